// SPDX-License-Identifier: Apache-2.0

import Platform
import TimerControl

/// A change that is more than one request holds: its parts are sent one after another, then done as one.
///
/// The daemon keeps what has come for a day, under a name that the same parts have again: the same command after
/// a broken connection goes on where that one ended.
struct JobUpload {
    let daemon: Daemon
    let name: String
    private let parts: [ApplyJobs]

    init(_ parts: [ApplyJobs], to daemon: Daemon) throws {
        self.daemon = daemon
        self.parts = parts
        var digest = FNV1a()
        for part in parts { digest.add(try Request.applyJobs(part).line(id: nil)) }
        name = "timerctl-" + String(digest.hash, radix: 16)
    }

    /// Sends the parts that the daemon does not have yet.
    ///
    /// `progress` counts the jobs. `placed`: the daemon's message on a part, with the place in the source.
    /// - Throws: what the daemon refuses; then it keeps none of them.
    func send(
        _ progress: Progress,
        placed: (_ part: Int, _ message: String) -> String
    ) async throws(Failure) {
        let there = try await daemon.ask(.listUploads, for: UploadsReply.self).value.uploads
            .first { $0.name == name }
        let known = Set(there?.parts ?? [])
        for (index, jobs) in parts.enumerated() {
            if !known.contains(index) {
                let part = PutPart(upload: name, part: index, jobs: jobs)
                try await asking { message in
                    placed(index, message)
                } body: { () throws(Failure) in
                    _ = try await daemon.ask(.putPart(part), for: UploadReply.self)
                }
            }
            progress.advance(by: jobs.count)
        }
    }

    /// Does all of it or nothing; a trial keeps nothing of the parts either.
    ///
    /// - Throws: what the daemon refuses; with the conflict `taken` where another command that sends the same parts,
    ///   which have one name, has applied or dropped them.
    func apply(
        dryRun: Bool = false,
        ifNoNewer: NewestTagged? = nil,
        placed: (String) -> String
    ) async throws(Failure) -> UploadedReply {
        let whole = ApplyJobs(ifNoNewer: ifNoNewer, dryRun: dryRun, upload: name)
        let request = Request.applyJobs(whole)
        do throws(Failure) {
            return try await asking(placed) { () throws(Failure) in
                let reply = try await daemon.ask(request, for: UploadedReply.self).value
                // try?: another command that tries the same may have dropped it, and what stays goes in a day.
                if dryRun { _ = try? await daemon.ask(.dropUpload(name), for: UploadReply.self) }
                return reply
            }
        } catch {
            // The daemon names the upload in no other refusal.
            guard error.isRefusal, error.message.contains("upload '\(name)'") else {
                throw dryRun ? error.aheadOfChange : error
            }
            var taken = error.saying(
                "another command that sent the same has applied it, or taken it back, meanwhile; nothing of this one "
                    + "was done"
            )
            taken.conflict = .taken
            throw taken
        }
    }

    /// What is refused would be refused again: its parts go.
    private func asking<Value>(
        _ placed: (String) -> String,
        body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        do {
            return try await body()
        } catch {
            guard error.isRefusal else { throw error }
            // try?: there may be none yet, and what stays goes in a day.
            _ = try? await daemon.ask(.dropUpload(name), for: UploadReply.self)
            throw error.saying(placed(error.message))
        }
    }
}
