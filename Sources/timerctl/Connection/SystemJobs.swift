// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerControl

/// The live jobs that a user with a daemon of one's own has at the system's: commands ask the own daemon alone.
struct SystemJobs: Hashable {
    var count: Int
    /// Whether there are others, which were not counted.
    var areMore = false

    /// How many are counted.
    private static let most = 100
    /// How long the system's daemon may take to answer: the command has its own answer already.
    private static let limit = Duration.seconds(1)

    /// "the system's daemon has 3 more jobs of yours".
    var sentence: String {
        let words =
            areMore ? "more than \(count) jobs" : count == 1 ? "1 more job" : "\(count) more jobs"
        return "the system's daemon has \(words) of yours"
    }

    /// The option that has a command ask the system's daemon.
    static let option = "--socket \(DefaultPaths.systemSocket)"

    /// Asks the system's daemon, where the one at `socket` is the user's own; nil if it has none of the user's jobs, does
    /// not answer, or is stopped.
    static func read(beside socket: String) async -> Self? {
        let own = DefaultPaths.current.socket
        // Root's own is the system's.
        guard socket == own, own != DefaultPaths.systemSocket, mayRun() else { return nil }
        return await within(limit) {
            // try?: without an answer there is nothing to tell.
            try? await ask(DefaultPaths.systemSocket)
        }
    }

    /// Whether the system's daemon may run: systemd, which holds its socket, would start one that root has stopped as soon
    /// as somebody connects.
    ///
    /// systemd has a link of that name for each service that is not inactive. A daemon that root has started by hand beside
    /// systemd is not asked, either.
    static func mayRun(isThere: (String) -> Bool = exists) -> Bool {
        !isThere("/run/systemd/system") || isThere("/run/systemd/units/invocation:timerd.service")
    }

    /// Whether there is a file or a link, wherever that leads: systemd's leads to none.
    private static func exists(_ path: String) -> Bool {
        faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }

    private static func ask(_ socket: String) async throws -> Self? {
        let client = try await ControlClient.connect(to: socket)
        var request = ListJobs()
        request.limit = most
        let page: JobsReply = try await client.call(.listJobs(request))
        await client.close()
        guard !page.jobs.isEmpty else { return nil }
        return Self(count: page.jobs.count, areMore: page.cursor != nil)
    }

    /// Tells of them on standard error, if there are any.
    static func tell(beside socket: String) async {
        guard let jobs = await read(beside: socket) else { return }
        Output.tell("\(jobs.sentence): \(option)")
    }
}
