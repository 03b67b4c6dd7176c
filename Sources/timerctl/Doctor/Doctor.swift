// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerWords

/// `timerctl doctor`: what is wrong, and what to do about it.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look at daemon, socket, database, clock and service, and say what to do.",
        discussion: """
            Needs no daemon, and says so where none answers. Ends with 0 where nothing is broken, else \
            with 1. As root, or as the daemon's user, it has the whole database checked.

            Examples:
              timerctl doctor
              timerctl doctor --json | jq 'select(.level != "ok")'
            """
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let findings = try await examine()
        if common.json {
            try Output.write(findings.map { $0.json.jsonText + "\n" }.joined())
        } else {
            let terminal = Terminal.current
            try Output.write(findings.map { $0.lines(on: terminal) }.joined())
        }
        if findings.contains(where: { $0.level == .broken }) { throw Failure(.refused, "") }
    }

    private func examine() async throws -> [Finding] {
        let path = common.socketPath
        let client: ControlClient
        let status: StatusReply
        do throws(ClientError) {
            client = try await ControlClient.connect(to: path)
        } catch {
            let facts = HostFacts.read(socket: path, daemon: nil)
            return [Diagnosis.socket(facts, trouble: error)] + host(facts, nil)
        }
        let daemon = Daemon(client: client, socket: path)
        do throws(Failure) {
            status = try await daemon.ask(.status, for: StatusReply.self).value
        } catch {
            let finding: Finding
            switch error.status {
            case .unavailable: finding = Diagnosis.silence(error)
            case .protocolBroken: finding = Diagnosis.stranger(error, at: path)
            default: throw error
            }
            return [finding] + host(HostFacts.read(socket: path, daemon: nil), nil)
        }
        let nodes = status.node == nil ? nil : try await nodes(daemon)
        // try?: why the nodes are not known is a finding of its own.
        let isElsewhere = (try? nodes?.get())?.isLed(elsewhereThan: HostFacts.hostName) ?? false
        let facts = HostFacts.read(
            socket: path,
            daemon: isElsewhere ? nil : (status.pid, status.database)
        )
        let runs = try await daemon.runs(ListRuns(), atMost: 100).page.runs
        var heldJobs = ListJobs()
        heldJobs.held = true
        heldJobs.limit = 5
        let held = try await daemon.ask(.listJobs(heldJobs), for: JobsReply.self).value.jobs
        let waiting = Request.listNotices(ListNotices(limit: Limits.page))
        let notices = try await daemon.ask(waiting, for: NoticesReply.self).value.notices
        return [
            Diagnosis.socket(facts, trouble: nil), Diagnosis.daemon(status), Diagnosis.jobs(status),
        ] + Diagnosis.nodes(nodes) + [Diagnosis.held(status, held)].compactMap(\.self) + [
            Diagnosis.runs(runs), Diagnosis.notices(notices),
        ]
            + [
                status.runner.map { Diagnosis.runner($0, of: status.version) },
                status.controlGroups.map(Diagnosis.groups),
                status.defaults.flatMap { Diagnosis.defaults(HandlerProgram.read($0)) },
            ].compactMap(\.self) + [
                Diagnosis.writing(status),
                Diagnosis.database(status.database, problems: try await problems(daemon)),
            ] + host(facts, status, isElsewhere: isElsewhere)
    }

    /// The daemons that share their jobs, or why they cannot be listed.
    private func nodes(_ daemon: Daemon) async throws(Failure) -> Result<NodesReply, Failure> {
        do throws(Failure) {
            return .success(try await daemon.ask(.listNodes, for: NodesReply.self).value)
        } catch {
            guard error.isRefusal else { throw error }
            return .failure(error)
        }
    }

    /// `isElsewhere`: the daemon that answers is on another machine, whose service and files are not to be seen here.
    private func host(
        _ facts: HostFacts,
        _ status: StatusReply?,
        isElsewhere: Bool = false
    ) -> [Finding] {
        let findings: [Finding?] = [
            facts.space.map(Diagnosis.space), Diagnosis.permissions(facts),
            Diagnosis.clock(facts, daemon: status?.now), Diagnosis.zones(facts),
            // Only root's daemon is the system's service.
            geteuid() == 0 && !isElsewhere ? Diagnosis.service(facts) : nil,
        ]
        return findings.compactMap(\.self)
    }

    /// The faults that the check of the whole database found; nil if the caller may not ask for it.
    private func problems(_ daemon: Daemon) async throws -> [String]? {
        do throws(Failure) {
            return try await Progress.show("checking the database") { _ throws(Failure) in
                try await daemon.ask(.checkDatabase, for: CheckReply.self).value.problems
            }
        } catch {
            guard error.status == .notPermitted else { throw error }
            return nil
        }
    }
}
