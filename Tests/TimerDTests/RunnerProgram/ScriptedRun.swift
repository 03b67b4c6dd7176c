// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// The control groups that a runner of these tests makes.
enum MachineGroups {
    static let groups: ControlGroups = {
        do {
            let runner = try RunnerProcess()
            defer { withExtendedLifetime(runner) {} }
            return try runner.connect().next {
                if case .groups(let groups) = $0 { groups } else { nil }
            }
        } catch {
            return ControlGroups(areThere: false, controllers: [], lack: "\(error)")
        }
    }()

    static var areThere: Bool { groups.areThere }

    static func limit(_ controllers: ControlGroups.Controllers) -> Bool {
        groups.controllers.isSuperset(of: controllers)
    }

    static let has: Comment = "there are no control groups here, or none with such a controller"
}

/// A shell script as a run, by the protocol.
enum ScriptedRun {
    static func request(_ run: Int64, _ script: String) -> RunRequest {
        var request = TestRunner.script(script)
        request.run = run
        return request
    }

    static func start(_ request: RunRequest) -> RunnerOrder { .start(request, files: ["/bin/sh"]) }

    /// Runs a script, and returns its end with what it wrote.
    static func end(
        _ script: String,
        _ change: (inout RunRequest) -> Void = { _ in }
    ) throws -> (end: RunnerReport.End, text: String) {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        var request = request(1, script)
        change(&request)
        try peer.send(start(request))
        let (end, stdout, _) = try peer.end(of: 1)
        withExtendedLifetime(runner) {}
        return (end, String(decoding: stdout, as: UTF8.self))
    }
}
