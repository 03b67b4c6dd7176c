// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Locks
import Testing

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

/// Every way in which a command can behave, as a real process; as root also for another user.
@Suite("Ways of a run", .timeLimit(.minutes(3))) struct RunWaysTests {
    struct Example: Sendable, CustomTestStringConvertible {
        var way: RunWay
        /// Nil for the daemon's own user.
        var owner: Credentials?
        var testDescription: String { way.description + (owner == nil ? "" : ", as another user") }
    }

    static let examples = RunWay.all.filter { way in
        // A sanitizer takes more than any limit up to the exec, and may spin where it gets none.
        !Machine.isSlow || way.limits.memoryMax == nil
    }.flatMap { way in
        var owners: [Credentials?] = way.isOthers ? [] : [nil]
        if geteuid() == 0 { owners.append(CredentialsTests.nobody) }
        return owners.map { Example(way: way, owner: $0) }
    }

    @Test("It ends as it should, leaves nobody and no descriptor behind", arguments: examples)
    func way(example: Example) async throws {
        let way = example.way
        let folder = try TemporaryFolder()
        let test = try TestRunner()
        let busy = try await prepare(folder, test)
        defer { close(busy) }
        func placed(_ text: String) -> String { text.replacing("FOLDER", with: folder.path) }

        var request = TestRunner.request(way.argv.map(placed), input: way.input)
        request.workingDirectory = placed(way.directory)
        request.limits = way.limits
        request.timeout = way.timeout
        request.credentials = example.owner
        // The process's first sleep opens a timer for good, which is not the runner's.
        try await Task.sleep(for: .milliseconds(1))
        let before = descriptors()
        let leader = Locked<Int32?>(nil)
        let result = await test.run(request) { pid in leader.withLock { $0 = pid } }

        if case .notStarted(let reason) = way.outcome {
            #expect(result.outcome == .notStarted(placed(reason)))
        } else {
            #expect(result.outcome == way.outcome)
        }
        let output = result.output
        if let expected = way.output {
            #expect(output.stdoutText == expected)
            #expect(output.stdoutDropped == 0)
        }
        if let size = way.size {
            #expect(output.stdout.count + output.stdoutDropped == size)
            #expect(output.stderr.count + output.stderrDropped == size)
        }
        #expect(output.stdout.count <= 65_536)
        #expect(output.stderr.count <= 65_536)
        #expect(descriptors().subtracting(before) == [])

        let left = readFile(folder.file("left")).flatMap { pid_t($0.dropLast()) }
        #expect((left != nil) == way.leaves)
        defer { if let left { kill(left, SIGKILL) } }
        // Nobody leaves a control group.
        if let left { #expect(isAlive(left) == !MachineGroups.areThere) }
        if let leader = leader.withLock({ $0 }) {
            let all = try #require(ProcessStatus.allProcesses)
            #expect(all.filter { getpgid($0) == leader && isAlive($0) } == [])
            #expect(all.filter { getsid($0) == leader && $0 != left && isAlive($0) } == [])
        }
    }

    /// Makes the files that the ways name; a descriptor that keeps one of them open for writing.
    private func prepare(_ folder: TemporaryFolder, _ test: TestRunner) async throws -> CInt {
        try #require(chmod(folder.path, 0o777) == 0)
        let made = await test.run(
            script: """
                cd \(folder.path)
                echo hello >plain
                ln -s circle circle
                mkfifo -m 666 fifo
                printf '#! /no/such -x\\n' >astray
                printf '#!/tmp\\n' >misled
                echo 'echo text' >text
                printf '#!/bin/sh\\necho "$1"\\n' >script
                : >empty
                cp /bin/true busy
                chmod 755 astray misled text script empty busy
                mkdir locked
                cp script locked
                chmod 700 locked
                """
        )
        try #require(made.outcome == .exited(0))
        let busy = open(folder.file("busy"), O_WRONLY | O_CLOEXEC)
        try #require(busy != -1)
        return busy
    }

    /// What the runner opens for runs, and has to close: pipes, pidfds and alarms.
    private func descriptors() -> Set<String> {
        // try?: one that has been closed since it was listed is none any more.
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let links = numbers.compactMap { number in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)"))
                .map { "\(number) \($0)" }
        }
        return Set(links.filter { $0.contains("pipe:") || $0.contains("anon_inode:") })
    }
}
