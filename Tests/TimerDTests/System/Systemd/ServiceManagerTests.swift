// SPDX-License-Identifier: Apache-2.0

import Glibc
import RunLoopTimers
import Testing

@testable import LinuxSystem
@testable import TimerD

/// What a service manager says in the environment, and what it is told.
@Suite("Service manager", .timeLimit(.minutes(1))) struct ServiceManagerTests {
    @Test("Without one, nothing is said and nothing is heard")
    func none() {
        let manager = ServiceManager(environment: [:], pid: 42)
        #expect(manager.sockets.isEmpty)
        #expect(manager.watchdogInterval == nil)
        manager.tell(.ready)
    }

    @Test("Sockets and the watchdog are ours where the process number is")
    func environment() {
        var environment = [
            "LISTEN_PID": "42", "LISTEN_FDS": "1", "WATCHDOG_PID": "42",
            "WATCHDOG_USEC": "30000000",
        ]
        let manager = ServiceManager(environment: environment, pid: 42)
        #expect(manager.sockets == 3..<4)
        #expect(manager.watchdogInterval == .seconds(30))
        let other = ServiceManager(environment: environment, pid: 43)
        #expect(other.sockets.isEmpty)
        #expect(other.watchdogInterval == nil)
        // Without a process number, the watchdog is for whoever reads it: sd_watchdog_enabled(3).
        environment["WATCHDOG_PID"] = nil
        #expect(ServiceManager(environment: environment, pid: 43).watchdogInterval == .seconds(30))
        environment["LISTEN_FDS"] = "-7"
        environment["WATCHDOG_USEC"] = "0"
        let odd = ServiceManager(environment: environment, pid: 42)
        #expect(odd.sockets.isEmpty)
        #expect(odd.watchdogInterval == nil)
    }

    @Test("One socket is taken; of several none, which no other start mends")
    func several() throws {
        func socket(of count: Int) throws(SocketError) -> Int32? {
            let environment = ["LISTEN_PID": "42", "LISTEN_FDS": "\(count)"]
            return try ServiceManager(environment: environment, pid: 42).socket(for: "/run/s")
        }
        #expect(try socket(of: 0) == nil)
        #expect(try socket(of: 1) == 3)
        let error = #expect(throws: SocketError.self) { try socket(of: 2) }
        #expect(error?.isLasting == true)
        #expect(error?.description.contains("handed over 2 sockets, accepted is one") == true)
    }

    @Test("States are written as sd_notify(3) has them")
    func states() {
        typealias State = ServiceManager.State
        let texts: [(State, String)] = [
            (.ready, "READY=1"), (.stopping, "STOPPING=1"), (.alive, "WATCHDOG=1"),
            (.reloading, "RELOADING=1\nMONOTONIC_USEC=7"), (.status("3 jobs\n"), "STATUS=3 jobs "),
            (.status("a\r\nMAINPID=1"), "STATUS=a\r MAINPID=1"),
            (.needs(.milliseconds(1500)), "EXTEND_TIMEOUT_USEC=1500000"),
        ]
        for (state, text) in texts { #expect(state.text(monotonic: 7) == text) }
    }

    @Test("It is told where it listens, by a path or a name", arguments: [true, false])
    func tell(isAbstract: Bool) throws {
        let listener = try NotifySocket(isAbstract: isAbstract)
        let manager = ServiceManager(environment: ["NOTIFY_SOCKET": listener.address], pid: 1)
        manager.tell(.ready, .status("up"))
        #expect(listener.receive() == "READY=1\nSTATUS=up")
    }

    @Test("The timers' thread says that it turns, and falls silent when it is stuck")
    func watchdog() throws {
        let listener = try NotifySocket(isAbstract: true)
        let manager = ServiceManager(
            environment: ["NOTIFY_SOCKET": listener.address, "WATCHDOG_USEC": "40000"],
            pid: 1
        )
        let thread = RunLoopThread(name: "watched")
        defer { thread.stop() }
        let watchdog = try #require(Watchdog(manager, on: thread))
        withExtendedLifetime(watchdog) {
            for _ in 1...3 { #expect(listener.receive() == "WATCHDOG=1") }
            let (begun, stuck) = (Turnstile(), Turnstile())
            thread.perform {
                begun.open()
                stuck.wait()
            }
            begun.wait()
            // What it had said before.
            while listener.receive(within: 0) != nil {}
            #expect(listener.receive(within: 200) == nil)
            stuck.open()
            #expect(listener.receive() == "WATCHDOG=1")
        }
    }

    @Test("No manager, no watchdog")
    func noWatchdog() {
        let thread = RunLoopThread(name: "unwatched")
        defer { thread.stop() }
        #expect(Watchdog(ServiceManager(environment: [:], pid: 1), on: thread) == nil)
    }
}

/// A thread waits at it until it is opened.
private final class Turnstile: Sendable {
    private let ends: (Int32, Int32)

    init() {
        var pipe: [Int32] = [0, 0]
        Glibc.pipe(&pipe)
        ends = (pipe[0], pipe[1])
    }

    func wait() {
        var byte: UInt8 = 0
        read(ends.0, &byte, 1)
    }

    func open() {
        var byte: UInt8 = 1
        write(ends.1, &byte, 1)
    }
}
