// SPDX-License-Identifier: Apache-2.0

import HTML
import HummingbirdCore
import NIOCore
import TimerControl

/// The daemon's events for one browser, from the number on that it has seen.
///
/// It has a subscription of its own: what a browser does not take waits at the daemon, which reads it from its database
/// later. So nothing is kept here, and nothing is missed: not while a laptop sleeps, and not while the daemon is
/// away.
struct DaemonEventStream: ServedStream {
    private let daemon: Daemon
    private let jobs: [JobID]
    private let since: Int64?
    /// Behind a proxy a stream that is silent would be ended.
    private let isKeptAlive: Bool

    init(visit: Visit, since: String?) {
        daemon = visit.site.daemon
        jobs = visit.link.query.filter { $0.name == "job" }.compactMap { JobID($0.value) }
        // A browser that lost its stream says where it was; a new one as of when its page is, unless that was made
        // while no daemon answered.
        self.since = (since ?? visit.query("since")).flatMap { Int64($0) }.flatMap {
            $0 >= 0 ? $0 : nil
        }
        isKeptAlive = visit.site.access.isProxied
    }

    func serve(
        _ request: HummingbirdCore.Request,
        _ writer: consuming ResponseWriter,
        _ channel: any Channel
    ) async throws {
        let writer = writer
        try await EventStreamWriter.serve(request, writer, channel, isKeptAlive: isKeptAlive) {
            stream in
            try await follow(&stream)
        }
    }

    private func follow(_ stream: inout EventStreamWriter) async throws {
        var seen = since
        var isAway = false
        var pause = SearchPause()
        while true {
            do {
                try await daemon.streaming { client in
                    try await tell(of: client, from: &seen, &stream, isAway: &isAway)
                }
                // A page's request has found that the daemon hangs.
                throw DaemonHangs(socket: daemon.socket, patience: daemon.patience)
            } catch let error as BrowserGone {
                throw error
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                if !isAway {
                    let message = JSONValue.string("\(error)").jsonText
                    try await stream.send(event: "away", data: #"{"message":\#(message)}"#)
                    pause = SearchPause()
                }
                isAway = true
                try await pause.wait()
            }
        }
    }

    /// Passes on what happens, until the daemon or the browser has gone.
    private func tell(
        of client: ControlClient,
        from seen: inout Int64?,
        _ stream: inout EventStreamWriter,
        isAway: inout Bool
    ) async throws {
        let since = seen
        let (newest, isAnew) = try await daemon.minding(client) {
            try await subscribe(client, since)
        }
        seen = isAnew ? newest : seen ?? newest
        if isAnew {
            try await stream.send(id: "\(newest)", event: "lost", data: #"{"newest":\#(newest)}"#)
        }
        // A page that is as of no event was made while no daemon answered.
        if isAway || since == nil { try await stream.send(event: "back", data: "{}") }
        isAway = false
        for try await told in client.events.withLosses {
            switch told {
            case .lost(let gap):
                let data = #"{"after":\#(gap.after),"through":\#(gap.through)}"#
                try await stream.send(event: "lost", data: data)
            case .event(let event):
                seen = event.seq
                try await stream.send(id: "\(event.seq)", data: Self.json(event))
            }
        }
    }

    /// The newest number, and whether the daemon counts anew: it has another database, and never gave out `since`.
    private func subscribe(
        _ client: ControlClient,
        _ since: Int64?
    ) async throws -> (newest: Int64, isAnew: Bool) {
        var request = Subscribe()
        request.since = since
        request.jobs = jobs.isEmpty ? nil : jobs
        do {
            return (try await client.subscribe(request).seq, false)
        } catch let error as ControlError where error.reason == .invalidParams && since != nil {
            request.since = nil
            return (try await client.subscribe(request).seq, true)
        }
    }

    /// What pages go by; a user's data stays where it is.
    static func json(_ event: Event) -> String {
        var all: [String: JSONValue] = [
            "seq": .integer(event.seq), "type": .string(event.type.rawValue),
            "job": .integer(event.job.rawValue),
        ]
        if let run = event.run { all["run"] = .integer(run.rawValue) }
        if let name = event.name { all["name"] = .string(name) }
        return JSONValue.object(all).jsonText
    }
}
