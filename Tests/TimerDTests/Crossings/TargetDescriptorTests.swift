// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// What jobs that are tied to processes take of the daemon's descriptors.
@Suite("Descriptors of targets", .timeLimit(.minutes(3)))
struct TargetDescriptorTests {
    /// Processes that wait, and are ended with this.
    private final class Sleepers: Sendable {
        let pids: [pid_t]

        init(_ count: Int) throws {
            pids = try (0..<count).map { _ in
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/bin/sleep")
                process.arguments = ["1000"]
                try process.run()
                return process.processIdentifier
            }
        }

        deinit {
            for pid in pids { kill(pid, SIGKILL) }
        }
    }

    private func add(_ daemon: DaemonProcess, tiedTo pid: pid_t) async throws
        -> DaemonProcess.Answer
    {
        try await daemon.timerctl("add", "--every", "1h", "--while-pid", "\(pid)")
    }

    private func descriptors(of daemon: DaemonProcess) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.pid)/fd").count
    }

    @Test("A process costs one descriptor, however many jobs are tied to it")
    func shared() async throws {
        try await DaemonProcess.with { daemon in
            let sleepers = try Sleepers(1)
            #expect(try await add(daemon, tiedTo: sleepers.pids[0]).status == 0)
            let before = try descriptors(of: daemon)
            for _ in 1...20 {
                #expect(try await add(daemon, tiedTo: sleepers.pids[0]).status == 0)
            }
            try await eventually("no more are open than for one") {
                try descriptors(of: daemon) <= before
            }
            kill(sleepers.pids[0], SIGKILL)
            while try await !daemon.timerctl("list", "--json").output.isEmpty {
                try Task.checkCancellation()
            }
        }
    }

    @Test("Beyond a quarter of the descriptors a job is refused, none is ended, and commands start")
    func bound() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try await daemon.start(through: ["prlimit", "--nofile=80:80"])
            let sleepers = try Sleepers(60)
            var accepted: [pid_t] = []
            for pid in sleepers.pids {
                let answer = try await add(daemon, tiedTo: pid)
                if answer.status == 0 {
                    accepted.append(pid)
                } else {
                    #expect(answer.errors.contains("jobs are tied to 20 other processes"))
                }
            }
            #expect(accepted.count == 20)
            let list = try await daemon.timerctl("list", "--json").output
            #expect(list.split(separator: "\n").count == 20, "all of them live, and no other does")
            #expect(!list.contains("targetGone"))
            let ran = try await daemon.finish(["echo", "ran"], as: geteuid())
            #expect(ran.status == 0, "\(ran)")

            // All or nothing, where the last of a list is one too many.
            kill(accepted[0], SIGKILL)
            while try await daemon.live() > 20 { try Task.checkCancellation() }
            let two = sleepers.pids.suffix(2).map {
                #"{"schedule":{"every":"1h"},"whilePid":\#($0)}"#
            }
            let replies = try await daemon.asked(
                #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"jobs":[\#(two.joined(separator: ","))]}}"#
            )
            #expect(replies.contains("limitReached") && replies.contains("jobs[1]"), "\(replies)")
            let one = try await add(daemon, tiedTo: sleepers.pids[59])
            #expect(one.status == 0, "what the list had is free again: \(one.errors)")
        }
    }

    @Test("A start with fewer descriptors ends no job, and ties each as soon as there is one")
    func restart() async throws {
        try await DaemonProcess.with { daemon in
            let sleepers = try Sleepers(30)
            for pid in sleepers.pids { #expect(try await add(daemon, tiedTo: pid).status == 0) }
            await daemon.end(SIGTERM)
            try await daemon.start(through: ["prlimit", "--nofile=80:80"])
            #expect(daemon.log.contains("jobs cannot be tied to their processes yet"))
            #expect(daemon.log.contains("jobs=10"), "\(daemon.log)")
            #expect(try await daemon.live() == 30)
            // Those that are tied go; those that were not take their places, and go as well.
            for pid in sleepers.pids { kill(pid, SIGKILL) }
            while try await daemon.live() > 0 { try Task.checkCancellation() }
        }
    }

    @Test(
        "The last eighth of the processes that can be watched is for administrators, who may have all"
    )
    func administrators() throws {
        let sleepers = try Sleepers(9)
        let targets = sleepers.pids.compactMap { pid in
            ProcessIdentity.ticks(of: pid).map { ProcessIdentity(pid: pid, ticks: $0) }
        }
        let watch = TargetWatch(on: .test, most: 8, administrators: [0])
        for target in targets.prefix(4) { try watch.hold(target, for: 1) }
        for target in targets[4..<7] { try watch.hold(target, for: 2) }
        let kept =
            "jobs are tied to 7 of the 8 processes that timerd has descriptors for, "
            + "the last 1 are for root"
        #expect(throws: TargetWatch.Refusal.reserved(kept)) { try watch.hold(targets[7], for: 2) }
        try watch.hold(targets[7], for: 0)
        for target in targets.prefix(7) { try watch.hold(target, for: 0) }
        #expect(throws: TargetWatch.Refusal.tooMany(watched: 8, isUsers: false)) {
            try watch.hold(targets[8], for: 0)
        }
        withExtendedLifetime(sleepers) {}
    }

    @Test("One user's jobs are tied to no more than so many processes, and leave others theirs")
    func perUser() async throws {
        let sleepers = try Sleepers(6)
        let targets = sleepers.pids.compactMap { pid in
            ProcessIdentity.ticks(of: pid).map { ProcessIdentity(pid: pid, ticks: $0) }
        }
        let watch = TargetWatch(on: .test, most: 4, administrators: [0])
        for target in targets.prefix(2) {
            for _ in 1...2 { try watch.hold(target, for: 1) }
        }
        let share =
            "your jobs are tied to 2 other processes, a user's share of the 4 that timerd has "
            + "descriptors for"
        #expect(throws: TargetWatch.Refusal.reserved(share)) {
            try watch.hold(targets[2], for: 1)
        }
        try watch.hold(targets[0], for: 2)
        try watch.hold(targets[2], for: 2)
        try watch.hold(targets[3], for: 3)
        #expect(throws: TargetWatch.Refusal.tooMany(watched: 4, isUsers: false)) {
            try watch.hold(targets[4], for: 3)
        }
        #expect(watch.count == 4)
        watch.release(targets[0], for: 1)
        watch.release(targets[0], for: 1)
        #expect(watch.count == 4, "it is the other's still")
        watch.release(targets[0], for: 2)
        #expect(watch.count == 3)
        try watch.hold(targets[4], for: 1)
        kill(sleepers.pids[5], SIGKILL)
        watch.release(targets[4], for: 1)
        try await eventually("it has ended") { !isAlive(sleepers.pids[5]) }
        #expect(throws: TargetWatch.Refusal.gone) { try watch.hold(targets[5], for: 1) }
    }
}

extension DaemonProcess {
    /// How many jobs there are that have not ended.
    fileprivate func live() async throws -> Int {
        try await timerctl("list", "--json").output.split(separator: "\n").count
    }

    /// Sends a line as the user of the tests; the reply.
    fileprivate func asked(_ line: String) async throws -> String {
        let client = """
            use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
            print $s <STDIN>; $s->flush; print scalar <$s>;
            """
        return try await Tool.run(["perl", "-e", client, socket], input: line + "\n")
    }
}
