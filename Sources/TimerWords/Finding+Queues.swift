// SPDX-License-Identifier: Apache-2.0

public import TimerControl

extension Finding {
    /// The queues that are paused and have tasks that workers could take; nil if there are none.
    ///
    /// `queues`: those that the caller may see; `areAll`: whether others were not looked at.
    public static func queues(_ queues: [TaskQueue], areAll: Bool = true) -> Self? {
        let stopped = queues.filter { $0.paused && $0.ready > 0 }
        guard let first = stopped.first else { return nil }
        let showsOwner = Set(queues.lazy.map(\.owner)).count > 1
        let named = stopped.prefix(5).map { queue in
            let owner = showsOwner ? " of \(queue.owner)" : ""
            return "'\(queue.queue)'\(owner), with \(queue.ready) ready"
        }
        let words = stopped.count == 1 ? "1 queue is" : "\(stopped.count) queues are"
        return .warning(
            "queues",
            "\(areAll ? "" : "at least ")\(words) paused and \(stopped.count == 1 ? "has" : "have") tasks: "
                + named.joined(separator: "; ") + (stopped.count > 5 ? "; and others" : ""),
            ShellWords.joined(["timerctl", "queue", "resume", first.queue])
                + ", by its owner, has workers get them"
        )
    }
}

/// Reads queues that are paused for a finding.
public enum PausedQueuePages {
    /// How many pages are looked at, each of 1000 queues.
    static let most = 10

    /// Those that the caller may see, and whether there are no others; `read`: asks for a page.
    public static func read<Reason: Error>(
        _ read: (ListQueues) async throws(Reason) -> QueuesReply
    ) async throws(Reason) -> (queues: [TaskQueue], areAll: Bool) {
        var request = ListQueues()
        (request.paused, request.limit) = (true, Limits.page)
        var queues: [TaskQueue] = []
        for _ in 0..<most {
            let page = try await read(request)
            queues += page.queues
            request.cursor = page.cursor
            if page.cursor == nil { return (queues, true) }
        }
        return (queues, false)
    }
}
