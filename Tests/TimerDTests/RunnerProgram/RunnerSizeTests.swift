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
    @Test("A run that goes on keeps no memory of the runs that began before it and are over")
    func memoryOfRunsThatAreOver() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        let runs = 1...100 as ClosedRange<Int64>
        for run in runs {
            var request = TestRunner.script("head -c 100000 /dev/zero")
            request.run = run
            try peer.send(.start(request, files: ["/bin/sh"]))
        }
        var open = Set(runs)
        while !open.isEmpty {
            open.remove(try peer.next { if case .ended(let run, _) = $0 { run } else { nil } })
        }
        // Behind all that is kept of the others.
        var request = TestRunner.script("echo; exec sleep 600")
        request.run = 101
        try peer.send(.start(request, files: ["/bin/sh"]))
        _ = try peer.next { if case .output(101, _, _, _, _) = $0 { true } else { nil } }
        let full = try runner.residentKilobytes
        for run in runs { try peer.send(.stored(run: run)) }
        try peer.send(.ping)
        _ = try peer.next { if case .pong = $0 { true } else { nil } }
        let resident = try runner.residentKilobytes
        // Of the 6400 that they had; what a sanitizer's allocator keeps is another matter.
        #expect(Machine.isSlow || resident < full - 3000, "\(resident) of \(full)")
        try peer.send(.end(run: 101, .kill, asRunner: true))
        _ = try peer.next { if case .ended(101, _) = $0 { true } else { nil } }
    }
}
