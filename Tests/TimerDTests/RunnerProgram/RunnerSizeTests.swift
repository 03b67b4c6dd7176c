// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

@Suite("What timerd-runner needs", .timeLimit(.minutes(3))) struct RunnerSizeTests {
    @Test(
        "It has less than 3 MB as a program, one thread, and less than 5 MB resident with 100 runs"
    )
    func size() throws {
        let program = DaemonProcess.programs + "/timerd-runner"
        var status = stat()
        #expect(stat(program, &status) == 0)
        #expect(Machine.isSlow || status.st_size < 3_000_000, "\(status.st_size)")
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        for run in 1...100 as ClosedRange<Int64> {
            var request = TestRunner.script("echo \(run); exec sleep 60")
            request.run = run
            try peer.send(.start(request, files: ["/bin/sh"]))
        }
        var open = Set(1...100 as ClosedRange<Int64>)
        while !open.isEmpty {
            let run = try peer.next {
                if case .output(let run, _, _, _, _) = $0 { run } else { nil }
            }
            open.remove(run)
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: "/proc/\(runner.pid)/task").count
                == 1
        )
        let resident = try runner.residentKilobytes
        #expect(Machine.isSlow || resident < 5000, "\(resident)")
        for run in 1...100 as ClosedRange<Int64> {
            try peer.send(.end(run: run, .kill, asRunner: true))
        }
        open = Set(1...100 as ClosedRange<Int64>)
        while !open.isEmpty {
            open.remove(try peer.next { if case .ended(let run, _) = $0 { run } else { nil } })
        }
    }
}
