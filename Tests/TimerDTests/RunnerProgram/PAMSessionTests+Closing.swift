// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import Runner

/// Sessions that hang as they are closed.
extension PAMSessionTests {
    /// A service whose sessions wait, as they are closed, until there is a line for each in a pipe.
    private func hangingService() throws -> (Service, fifo: String) {
        let service = try Service("session optional pam_exec.so FOLDER/hang")
        let fifo = service.folder.file("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let script = service.folder.file("hang")
        try "#!/bin/sh\n[ $PAM_TYPE = open_session ] || read word <\(fifo)\n"
            .write(toFile: script, atomically: false, encoding: .utf8)
        chmod(script, 0o755)
        return (service, fifo)
    }

    /// The processes that hold sessions open, where no command is on its way.
    private func holders(of runner: pid_t) -> Set<pid_t> {
        // Copies of the runner; what a killed one has left behind is no such.
        Set(
            children(of: runner).filter {
                readFile("/proc/\($0)/cmdline")?.contains("/timerd-runner") == true
            }
        )
    }

    @Test("Of many sessions of a user's that hang as they are closed the oldest is given up")
    func hanging() async throws {
        let (service, fifo) = try hangingService()
        let runner = try RunnerProcess("--without-groups")
        let pid = runner.pid
        let peer = try runner.connect()
        var other = request(1, "exit 0", service)
        other.credentials = Credentials(uid: 65_533, gid: 65_533, groups: [65_533])
        try peer.send(ScriptedRun.start(other))
        _ = try peer.end(of: 1)
        let older = holders(of: pid)
        #expect(older.count == 1)
        // One more than may hang, and no more at once than there are descriptors for.
        for first in stride(from: Int64(2), to: 259, by: 32) {
            let runs = first..<min(first + 32, 259)
            for run in runs { try peer.send(ScriptedRun.start(request(run, "exit 0", service))) }
            for _ in runs {
                _ = try peer.next { if case .ended = $0 { true } else { nil } }
            }
        }
        try await eventually("one of them is given up") {
            holders(of: pid).count == 1 + 256
        }
        #expect(holders(of: pid).isSuperset(of: older), "it is another user's")
        let gate = open(fifo, O_RDWR | O_CLOEXEC)
        defer { close(gate) }
        let lines = [UInt8](repeating: UInt8(ascii: "\n"), count: 1024)
        #expect(write(gate, lines, lines.count) == lines.count)
        try await eventually("the others are closed") { holders(of: pid).isEmpty }
        withExtendedLifetime((runner, service)) {}
    }
}
