// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

@Suite("Torture: descriptors and memory", .timeLimit(.minutes(20)))
struct ExhaustionTortureTests {
    @Test("Out of descriptors it goes on firing, says so, and serves again once there are some")
    func descriptors() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let limit = 96
            // It takes as many connections as a start has descriptors for: they get fewer behind that.
            try await daemon.start(
                through: DaemonProcess.roomy + ["prlimit", "--nofile=1024:1024"]
            )
            try await Tool.run(["prlimit", "--pid=\(daemon.pid)", "--nofile=\(limit):\(limit)"])
            let promises = Promises(attemptsFile: daemon.folder + "/attempts")
            var dice = Dice(seed: Torture.seed &+ 7)
            let rounds = Torture.rounds(2, long: 30)
            var (broken, refused): ([String], Int) = ([], 0)
            for round in 0..<rounds where broken.isEmpty {
                let load = MixedLoad(
                    socket: daemon.socket,
                    promises: promises,
                    name: "n\(round)",
                    seed: dice.next(),
                    limit: 120,
                    pause: 2000
                )
                let loading = Task { await load.run() }
                let watching = Task { await promises.watch(daemon.socket) }
                try await Task.sleep(for: .milliseconds(30))
                let complaint = daemon.nextLine(with: "refused for want of descriptors")
                let peers = (0..<150).compactMap { _ in SilentPeer(daemon.socket) }
                for peer in peers {
                    peer.send(#"{"jsonrpc":"2.0","id":1,"method":"daemon.status"}"# + "\n")
                }
                // It is said once a minute.
                if round == 0 { await complaint.wait() }
                refused += peers.count { peer in
                    let answer = peer.receive(within: 10_000) ?? []
                    return !String(decoding: answer, as: UTF8.self).contains("\"result\"")
                }
                for peer in peers { peer.close() }
                await loading.value
                watching.cancel()
                await watching.value
                let start = ContinuousClock.now
                try await promises.watchToTheEnd(daemon.socket)
                if Torture.isLong, ContinuousClock.now - start > .seconds(5) {
                    broken.append("slow to serve again")
                }
                broken += try promises.broken(in: daemon.database).map { "round \(round): \($0)" }
            }
            if broken.isEmpty { broken = try await daemon.settle(promises) }
            if refused == 0 { broken.append("there were descriptors enough") }
            let said = daemon.log.split(separator: "\n")
                .filter { $0.contains("descriptors are open") }
            if said.isEmpty {
                broken.append("the log says nothing of it: \(daemon.log.suffix(500))")
            }
            Torture.report(
                "no descriptors",
                rounds: rounds,
                injected:
                    "\(rounds) times 150 connections on \(limit) descriptors, \(refused) not served",
                checked: promises.summary
                    + "; the log: \(said.first ?? "nothing") (\(said.count) lines)",
                broken: broken,
                in: daemon
            )
        }
    }

    @Test("Out of memory it goes on or dies as by kill -9, hangs in no case, and nothing is lost")
    func memory() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let promises = Promises(attemptsFile: daemon.folder + "/attempts")
            var dice = Dice(seed: Torture.seed &+ 8)
            let rounds = Torture.rounds(3, long: 60)
            var (broken, deaths, recoveries): ([String], Int, Int) = ([], 0, 0)
            for round in 0..<rounds where broken.isEmpty {
                try await daemon.start(through: Self.withoutReporter)
                let load = MixedLoad(
                    socket: daemon.socket,
                    promises: promises,
                    name: "m\(round)",
                    seed: dice.next(),
                    clients: 8,
                    limit: 300
                )
                let loading = Task { await load.run() }
                let watching = Task { await promises.watch(daemon.socket) }
                try await Task.sleep(for: .milliseconds(50))
                try await Self.leaveRoom(of: Int.random(in: 0...200_000, using: &dice), daemon.pid)
                try await Task.sleep(for: .milliseconds(400))
                var standing = Self.standing(of: daemon)
                if standing == .serves {
                    // try?: it may end at any moment still, of what it could not have.
                    _ = try? await Tool.run(["prlimit", "--pid=\(daemon.pid)", "--data=unlimited"])
                    standing = Self.standing(of: daemon)
                }
                switch standing {
                case .dead: deaths += 1
                case .serves: recoveries += 1
                case .hangs: broken.append("round \(round): it neither ends nor answers")
                }
                await daemon.end(SIGKILL)
                _ = await (loading.value, watching.value)
                try await daemon.start(through: DaemonProcess.roomy)
                broken += try promises.broken(in: daemon.database).map { "round \(round): \($0)" }
                if round < rounds - 1 { await daemon.end(SIGTERM) }
            }
            if broken.isEmpty { broken = try await daemon.settle(promises) }
            Torture.report(
                "no memory",
                rounds: rounds,
                injected:
                    "\(rounds) limits of memory, \(deaths) deaths of it, \(recoveries) went on",
                checked: promises.summary,
                broken: broken,
                in: daemon
            )
        }
    }

    /// A crash ends it at once, as it does a daemon that is installed.
    ///
    /// Beside a toolchain, Swift starts a program that reports the crash. It inherits the connections,
    /// so clients wait for as long as it lives; and when the daemon is killed meanwhile that is for
    /// good: it holds both ends of the socket by which it reads the daemon's memory.
    private static let withoutReporter = DaemonProcess.roomy + ["SWIFT_BACKTRACE=enable=no"]

    private enum Standing { case serves, dead, hangs }

    /// Asks for an answer, and for an end where none comes.
    private static func standing(of daemon: DaemonProcess) -> Standing {
        guard let peer = SilentPeer(daemon.socket) else { return isGone(daemon.pid) }
        defer { peer.close() }
        peer.send(#"{"jsonrpc":"2.0","id":1,"method":"daemon.status"}"# + "\n")
        let answer = peer.receive(within: 20_000) ?? []
        return answer.isEmpty ? isGone(daemon.pid) : .serves
    }

    /// Whether a process that does not answer has ended, or does so within a moment.
    private static func isGone(_ pid: Int32) -> Standing {
        for _ in 0..<200 {
            if !isRunning(pid) { return .dead }
            usleep(10_000)
        }
        return .hangs
    }

    /// Lets the process have so many bytes more than it has.
    private static func leaveRoom(of bytes: Int, _ pid: Int32) async throws {
        let statm = try String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8)
        // The sixth number: its data, in pages.
        let pages = statm.split(separator: " ").dropFirst(5).first.flatMap { Int($0) } ?? 0
        try await Tool.run(["prlimit", "--pid=\(pid)", "--data=\(pages * 4096 + bytes):unlimited"])
    }

    private static func isRunning(_ pid: Int32) -> Bool {
        guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else {
            return false
        }
        return !stat.contains(") Z ")
    }
}
