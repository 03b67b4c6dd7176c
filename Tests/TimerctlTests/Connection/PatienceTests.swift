// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Locks
import Testing
import TimerControl

@testable import timerctl

/// Who is told what, where a daemon's first answer does not come.
@Suite("Patience", .timeLimit(.minutes(1))) struct PatienceTests {
    private func state(_ text: String, last: String = "") -> ServiceState {
        ServiceState(properties: ServiceState.properties(in: text), lastMessage: last)
    }

    @Test("A service on its way is waited for, unless it says that it cannot start")
    func onItsWay() {
        for (text, isOnItsWay) in [
            ("ActiveState=activating\nSubState=start", true), ("ActiveState=reloading", true),
            ("ActiveState=deactivating\nSubState=stop-sigterm", true),
            ("ActiveState=activating\nSubState=auto-restart\nResult=watchdog", true),
            ("ActiveState=activating\nStatusText=cannot start: the disk is full", false),
            ("ActiveState=failed", false), ("ActiveState=inactive", false),
            ("ActiveState=active\nSubState=running", false), ("", false),
        ] {
            #expect(state(text).isOnItsWay == isOnItsWay, "\(text)")
        }
    }

    @Test("Its sentence has the state, the result, the restarts and the daemon's own words")
    func sentences() {
        let failed = state(
            "ActiveState=failed\nSubState=failed\nResult=exit-code\nNRestarts=1\nStatusText=",
            last: "'/var/lib/timerd/timerd.db' is not an SQLite database"
        )
        #expect(
            failed.sentence == "timerd.service is failed (exit-code), after 1 restart; it says: "
                + "'/var/lib/timerd/timerd.db' is not an SQLite database; see 'journalctl -u timerd'"
        )
        let trying = state(
            "ActiveState=activating\nSubState=start\nResult=success\nNRestarts=4\n"
                + "StatusText=cannot start: disk = full; it is tried again in 16 s",
            last: "something older"
        )
        #expect(
            trying.sentence == "timerd.service is activating (start), after 4 restarts; it says: "
                + "cannot start: disk = full; it is tried again in 16 s; see 'journalctl -u timerd'"
        )
        var users = state("ActiveState=inactive\nSubState=dead\nResult=success\nNRestarts=0")
        users.manager = "--user"
        #expect(
            users.sentence
                == "timerd.service is inactive (dead); see 'journalctl --user -u timerd'"
        )
    }

    @Test("What a start does not mend is to be done before it")
    func startAdvice() {
        let usual = "systemctl start timerd; journalctl -u timerd says why it is not running"
        for (text, advice) in [
            ("ActiveState=inactive\nExecMainStatus=0", usual),
            ("ActiveState=inactive\nExecMainStatus=79", usual), ("", usual),
            (
                "ActiveState=failed\nExecMainStatus=79",
                "first put the database back, as it says; then: systemctl start timerd"
            ),
            (
                "ActiveState=failed\nExecMainStatus=78",
                "first mend what it says; then: systemctl start timerd"
            ),
            (
                "LoadState=masked\nActiveState=inactive",
                "systemctl unmask timerd; systemctl start timerd"
            ),
        ] {
            #expect(state(text).startAdvice == advice, "\(text)")
        }
        var users = state("ActiveState=failed\nExecMainStatus=78")
        users.manager = "--user"
        #expect(users.startAdvice.hasSuffix("then: systemctl --user start timerd"))
    }

    @Test("Where the service of a socket without a daemon says why, so does the failure")
    func service() {
        let error = ClientError(.noDaemon, "no daemon at '/s': no such file")
        #expect(Failure(error, service: nil, own: "/o").message == Failure(error).message)
        let state = ServiceState(properties: ["ActiveState": "failed", "Result": "exit-code"])
        let owns: [(String?, String)] = [
            ("/o", "; there is none of your own at '/o' either"), (nil, ""),
        ]
        for (own, words) in owns {
            #expect(
                Failure(error, service: state, own: own).message
                    == "no daemon at '/s': no such file: timerd.service is failed (exit-code); see "
                    + "'journalctl -u timerd'\(words)"
            )
        }
    }

    /// A socket that connections queue up at, and nobody accepts.
    private final class SilentListener: Sendable {
        let path = "/tmp/timerctl-\(UUID().uuidString.prefix(13)).sock"
        private let descriptor: Int32

        init() {
            descriptor = BoundSocket.listen(at: path)
        }

        deinit {
            close(descriptor)
            unlink(path)
        }
    }

    @Test("The process that listens at a socket is found without a word from it")
    func listener() {
        let listener = SilentListener()
        #expect(HostFacts.listener(at: listener.path) == getpid())
        #expect(HostFacts.listener(at: listener.path + ".none") == nil)
        #expect(HostFacts.listener(at: String(repeating: "x", count: 200)) == nil)
    }

    private func patience(
        _ listener: SilentListener,
        longest: Duration = .milliseconds(200),
        _ service: @escaping @Sendable () -> ServiceState?
    ) -> Patience {
        var patience = Patience(socket: listener.path, request: "job.list")
        patience.limit = .milliseconds(20)
        patience.longest = longest
        patience.service = service
        return patience
    }

    private static func never() async throws -> Int {
        while true { try await Task.sleep(for: .seconds(3600)) }
    }

    @Test("Nobody who is alive: it ends, and names the request and the socket")
    func silence() async throws {
        let listener = SilentListener()
        let error = await #expect(throws: Failure.self) {
            try await patience(listener) { nil }.wait(for: Self.never)
        }
        #expect(error?.status == .unavailable)
        #expect(
            error?.message.hasPrefix("no answer to 'job.list' at '\(listener.path)' for") == true
        )
    }

    @Test(
        "A service that has failed is told of at once, one on its way only when it takes too long"
    )
    func services() async throws {
        let listener = SilentListener()
        for (state, hasFailed) in [("failed", true), ("activating", false)] {
            let asked = Counter()
            let error = await #expect(throws: Failure.self) {
                // Room for more than one look, also on a busy machine.
                try await patience(listener, longest: .seconds(2)) {
                    asked.add()
                    return ServiceState(properties: ["ActiveState": state])
                }.wait(for: Self.never)
            }
            #expect(error?.message.contains("timerd.service is \(state)") == true)
            #expect((asked.count == 1) == hasFailed)
        }
    }

    @Test("Jobs asked for by their names are waited for no longer than any other answer")
    func names() async throws {
        let listener = SilentListener()
        let client = try await ControlClient.connect(to: listener.path)
        let error = await #expect(throws: Failure.self) {
            try await Daemon(client: client, socket: listener.path).jobs(named: ["a", "b"])
        }
        await client.close()
        #expect(error?.status == .unavailable)
        let words = "no answer to 'job.get' at '\(listener.path)' for"
        #expect(error?.message.hasPrefix(words) == true)
    }

    @Test("What comes while it is waited for is the answer, and so is what it throws")
    func answers() async throws {
        let listener = SilentListener()
        let patience = patience(listener) {
            ServiceState(properties: ["ActiveState": "activating"])
        }
        #expect(try await patience.wait { 7 } == 7)
        await #expect(throws: CancellationError.self) {
            try await patience.wait { () -> Int in throw CancellationError() }
        }
    }
}

/// Counts calls from any thread.
private final class Counter: Sendable {
    private let value = Locked(0)

    func add() { value.withLock { $0 += 1 } }
    var count: Int { value.withLock { $0 } }
}
