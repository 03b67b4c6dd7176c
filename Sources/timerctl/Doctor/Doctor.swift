// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Platform
import Schedules
import TimerControl
import TimerWords

/// `timerctl doctor`: what is wrong, and what to do about it.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look at daemon, socket, database, clock and service, and say what to do.",
        discussion: """
            Needs no daemon, and says so where none answers. Ends with 0 where nothing is broken, else \
            with 1. As root, or as the daemon's user, it has the whole database checked; that waits for \
            a backup, or another's check, that is in progress. A check that is refused is a warning.

            Examples:
              timerctl doctor
              timerctl doctor --json | jq 'select(.level != "ok")'
            """
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let findings = try await examine()
        if common.json {
            try Output.write(findings.map { $0.json.jsonLine }.joined())
        } else {
            let terminal = Terminal.current
            try Output.write(findings.map { $0.lines(on: terminal) }.joined())
        }
        if findings.contains(where: { $0.level == .broken }) { throw Failure(.refused, "") }
    }

    private func examine() async throws -> [Finding] {
        let path = common.socketPath
        let client: ControlClient
        do throws(ClientError) {
            client = try await ControlClient.connect(to: path)
        } catch {
            var facts = HostFacts.read(socket: path, daemon: nil)
            facts.serviceState = ServiceState.read(socket: path)
            return [Diagnosis.socket(facts, trouble: error)] + host(facts, nil)
        }
        let daemon = Daemon(client: client, socket: path)
        let status: StatusReply
        do {
            status = try await daemon.answer(to: Request.Method.status.rawValue) {
                try await client.status()
            }
        } catch {
            let service = ServiceState.read(socket: path)?.sentence
            return [Diagnosis.unanswered(error, at: path, service: service)]
                + host(HostFacts.read(socket: path, daemon: nil), nil)
        }
        return await examine(daemon, status, at: path)
    }

    private func examine(
        _ daemon: Daemon,
        _ status: StatusReply,
        at path: String
    ) async -> [Finding] {
        let nodes = status.node == nil ? nil : await nodes(daemon)
        // try?: why the nodes are not known is a finding of its own.
        let known = try? nodes?.get()
        let leader = known?.leader(elsewhereThan: HostName.current)
        let isBesideOthers = known?.takeCommands(besides: status.node?.name) == true
        let process: HostFacts.Process? =
            leader == nil
            ? HostFacts.Process(pid: status.pid, database: status.database)
            : HostFacts.listener(at: path).map { HostFacts.Process(pid: $0) }
        let facts = HostFacts.read(
            socket: path,
            daemon: process,
            runner: leader == nil ? status.runner?.pid : nil
        )
        var findings = [
            Diagnosis.socket(facts, trouble: nil), Diagnosis.daemon(status), Diagnosis.jobs(status),
        ]
        findings += Diagnosis.nodes(nodes)
        if let leader {
            findings.append(Diagnosis.passedOn(by: leader, seesOwn: facts.daemon != nil))
        }
        findings += await told(by: daemon, status).compactMap(\.self)
        let ofRuns: [Finding?] = [
            Finding.reload(status),
            status.runner.map {
                let running = status.node == nil ? status.running : nil
                return Finding.runner(
                    $0,
                    of: status.version,
                    running: running,
                    besideOthers: isBesideOthers ? status.node?.name : nil
                )
            },
            status.controlGroups.map { Diagnosis.groups($0, facts) },
            status.defaults.flatMap { Diagnosis.defaults(HandlerProgram.read($0)) },
        ]
        findings += ofRuns.compactMap(\.self)
        findings += [Finding.storage(status), await database(daemon, status)]
        return findings + host(facts, status, isElsewhere: leader != nil)
    }

    /// What the daemon's lists tell.
    private func told(by daemon: Daemon, _ status: StatusReply) async -> [Finding?] {
        let isShared = status.node != nil
        return [
            await SystemJobs.read(beside: common.socketPath).map(Diagnosis.systemJobs),
            await Self.finding("held", isShared: isShared) { () throws(Failure) in
                var held = ListJobs()
                (held.held, held.limit) = (true, Limits.page)
                let page = try await daemon.ask(.listJobs(held), for: JobsReply.self).value
                return Diagnosis.held(status, page)
            },
            await Self.finding("queues", isShared: isShared) { () throws(Failure) in
                let found = try await PausedQueuePages.read { (request) throws(Failure) in
                    try await daemon.ask(.listQueues(request), for: QueuesReply.self).value
                }
                return Finding.queues(found.queues, areAll: found.areAll)
            },
            await Self.finding("runs", isShared: isShared) { () throws(Failure) in
                Diagnosis.runs(try await daemon.newestRuns(100))
            },
            await Self.finding("notices", isShared: isShared) { () throws(Failure) in
                let found = try await NoticePages.read { (start) throws(Failure) in
                    let waiting = ListNotices(limit: Limits.page, cursor: start)
                    return try await daemon.ask(.listNotices(waiting), for: NoticesReply.self).value
                }
                return Finding.notices(found.notices, areAll: found.areAll, status)
            },
            Finding.maintenance(status) {
                LocalDate(now: status.now, zone: .local).dayAndTime($0.since)
            },
        ]
    }

    /// What one check finds, or why it could not be made: that is no reason to make no other.
    static func finding(
        _ subject: String,
        isShared: Bool = false,
        _ check: () async throws(Failure) -> Finding?
    ) async -> Finding? {
        do throws(Failure) {
            return try await check()
        } catch {
            return Diagnosis.unchecked(subject, error, isShared: isShared)
        }
    }

    /// The daemons that share their jobs, or why they cannot be listed.
    private func nodes(_ daemon: Daemon) async -> Result<NodesReply, Failure> {
        do throws(Failure) {
            return .success(try await daemon.ask(.listNodes, for: NodesReply.self).value)
        } catch {
            return .failure(error)
        }
    }

    /// `isElsewhere`: the daemon that answers is on another machine, and what is known here is of the one that passes that on.
    private func host(
        _ facts: HostFacts,
        _ status: StatusReply?,
        isElsewhere: Bool = false
    ) -> [Finding] {
        let findings: [Finding?] = [
            Diagnosis.clock(facts, daemon: status?.now), Diagnosis.zones(facts),
            // Only root's daemon is the system's service.
            geteuid() == 0 && (!isElsewhere || facts.daemon != nil)
                ? Diagnosis.service(facts) : nil,
        ]
        return [facts.space.map(Diagnosis.space), Diagnosis.leftovers(facts)].compactMap(\.self)
            + Diagnosis.permissions(facts) + findings.compactMap(\.self)
    }

    /// What the check of the whole database finds.
    private func database(_ daemon: Daemon, _ status: StatusReply) async -> Finding {
        do throws(Failure) {
            let reply = try await Progress.show("checking the database") { _ throws(Failure) in
                try await daemon.ask(.checkDatabase, for: CheckReply.self).value
            }
            return Diagnosis.database(status.database, problems: reply.problems)
        } catch {
            guard error.status == .notPermitted else {
                return Diagnosis.unchecked("database", error, isShared: status.node != nil)
            }
            return Diagnosis.database(status.database, problems: nil)
        }
    }
}
