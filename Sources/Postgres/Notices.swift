// SPDX-License-Identifier: Apache-2.0

/// What a server says beside its answers: dropped, but for what changes what an answer means.
///
/// Called by libpq while it reads, so on the connection's thread.
final class Notices {
    private let library: LibPQ
    /// Why the server has ended the connection while nothing was asked.
    private(set) var farewell: String?
    /// Whether a commit was answered that the standbys may not have: somebody cancelled its wait.
    private(set) var isReplicationUnsure = false

    init(of library: LibPQ) { self.library = library }

    func clear() { isReplicationUnsure = false }

    /// Has `connection` tell this object, which must outlive it.
    func receive(from connection: LibPQ.Connection) {
        _ = library.setNoticeReceiver(
            connection,
            { context, result in
                guard let context, let result else { return }
                // Not retained here: `context` is this object, which outlives the connection.
                Unmanaged<Notices>.fromOpaque(context).takeUnretainedValue().note(result)
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    private func note(_ result: LibPQ.Result) {
        func field(_ code: CInt) -> String? {
            library.resultErrorField(result, code).map { String(cString: $0) }
        }
        switch field(LibPQ.Field.severity) {
        case "FATAL", "PANIC": farewell = field(LibPQ.Field.message)
        // Its text is translated, this is not.
        case "WARNING" where field(LibPQ.Field.sourceFunction) == "SyncRepWaitForLSN":
            isReplicationUnsure = true
        default: break
        }
    }
}
