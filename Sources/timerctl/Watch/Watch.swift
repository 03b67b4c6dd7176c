// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// `timerctl watch`: events as they happen.
struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print events as they happen, a line each.",
        discussion: """
            --since first prints what followed that event, without a gap; --since 0 all that is \
            kept. --json prints the events as JSON with their numbers (seq). When the daemon goes \
            away it ends with 69 and says how to go on from there; of one that does not answer for \
            a minute it says so, and waits. Where the daemon is about to stop, or its node to give \
            up its lead, as it is asked first, the next one is looked for for 60 s.

            Examples:
              timerctl watch
              timerctl watch --type run.finished --job 2 3
              timerctl watch --json --since 0 -n 10 | jq -c '[.seq, .type, .job]'
            """
    )

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The number of the last event already seen.", valueName: "seq"),
        transform: wholeNumber("--since", "from 0")
    )
    var since: Int64?

    @Option(
        name: .customLong("type"),
        parsing: .upToNextOption,
        help: ArgumentHelp("Only events of these types, such as fire.fired.", valueName: "type"),
        completion: .list(Event.Kind.allCases.map(\.rawValue)),
        transform: { try eventKind($0) }
    )
    var types: [Event.Kind] = []

    @Option(
        name: .customLong("job"),
        parsing: .upToNextOption,
        help: ArgumentHelp("Only events of these jobs, by ids or names.", valueName: "job"),
        completion: .jobs,
        transform: { try jobReference($0) }
    )
    var jobs: [JobReference] = []

    @Option(
        name: .customShort("n"),
        parsing: .unconditional,
        help: ArgumentHelp("End after that many events.", valueName: "number"),
        transform: wholeNumber("-n", "from 1")
    )
    var number: Int?

    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        if let number, number < 1 { throw ValidationError("-n \(number) is not a number from 1") }
        if let since, since < 0 { throw ValidationError("--since \(since) is not a number from 0") }
    }

    func run() async throws {
        let (daemon, request, subscription) = try await begin()
        let client = daemon.client
        var last = since ?? subscription.seq
        let silence = daemon.watchSilence()
        defer { silence.cancel() }
        var left = number ?? .max
        do {
            for try await event in client.events {
                try Output.write(line(event))
                last = event.seq
                left -= 1
                if left == 0 { break }
            }
        } catch let error as Failure {
            throw error
        } catch let error as ControlError where error.reason != .stopping {
            // Who is denied meanwhile cannot go on.
            throw Failure(error)
        } catch {
            throw Failure(
                .unavailable,
                """
                \(error); the last event was \(last), go on with: \(resumption(of: request, after: last, left: left))
                """
            )
        }
        // Only here: this keeps the client alive, which hangs up when it is freed.
        await client.close()
    }

    /// Who tells events from now on, what it was asked for, and what it has answered.
    typealias Begun = (daemon: Daemon, request: Subscribe, reply: SubscriptionReply)

    /// The daemon that tells events from now on; where the one that is there refuses, as it stops or its node leads no more, the
    /// next one.
    func begin(
        _ reconnection: Reconnection = Reconnection()
    ) async throws(Failure) -> Begun {
        do throws(Failure) {
            return try await subscribe(Daemon.connect(common))
        } catch {
            guard error.isStopping else { throw error }
            let seconds = reconnection.limit.components.seconds
            Output.complain("\(error.message); looking for the next one for \(seconds) s")
            let begun = try await reconnection.answer(after: error) {
                () async throws(Failure) -> Result<Begun, Failure> in
                do throws(Failure) {
                    return .success(try await subscribe(Daemon.connect(common)))
                } catch {
                    // What is refused for another reason would be again.
                    guard error.status == .unavailable else { return .failure(error) }
                    throw error
                }
            }
            return try begun.get()
        }
    }

    private func subscribe(
        _ daemon: Daemon
    ) async throws(Failure) -> Begun {
        // Only names have to be asked for.
        let ids = jobs.compactMap(\.id)
        let request = request(
            of: ids.count == jobs.count ? ids : try await daemon.ids(of: jobs, undone: nil)
        )
        let client = daemon.client
        do {
            let reply = try await daemon.answer(to: "events.subscribe") {
                try await client.subscribe(request) { lost in
                    Output.complain(
                        "events \(lost.after + 1) to \(lost.through) are no longer kept"
                    )
                }
            }
            return (daemon, request, reply)
        } catch {
            throw Failure(answering: error)
        }
    }

    private func line(_ event: Event) throws -> String {
        if common.json { return try JSONValue(encoding: event).jsonLine }
        return EventLine(event, dates: LocalDate(now: .now, zone: .local)).text(for: .current)
    }

    func request(of jobs: [JobID]) -> Subscribe {
        var request = Subscribe()
        request.since = since
        request.types = types.isEmpty ? nil : types
        request.jobs = jobs.isEmpty ? nil : jobs
        return request
    }

    /// The command that goes on after the event with that number, for as many events as are left.
    ///
    /// With the jobs' ids: a name may be another job's by then, and what is still to be told of this one would be missed.
    func resumption(of request: Subscribe, after seq: Int64, left: Int) -> String {
        var words = ["timerctl", "watch", "--since", "\(seq)"]
        if !types.isEmpty { words += ["--type"] + types.map(\.rawValue) }
        if let jobs = request.jobs { words += ["--job"] + jobs.map { "\($0)" } }
        if number != nil { words += ["-n", "\(left)"] }
        if common.json { words.append("--json") }
        if let socket = common.socket { words += ["--socket", socket] }
        return ShellWords.joined(words)
    }
}

private func eventKind(_ argument: String) throws -> Event.Kind {
    guard let kind = Event.Kind(rawValue: argument) else {
        let kinds = Event.Kind.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("--type '\(argument)' is none of \(kinds)")
    }
    return kind
}
