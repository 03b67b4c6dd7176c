// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Locks
import Testing

@testable import Runner

@Suite("Accounts", .timeLimit(.minutes(1))) struct AccountsTests {
    /// A user database that counts what it is asked, and answers when a test says so.
    final class Directory: Sendable {
        struct State {
            var asked: [UInt32] = []
            var isRemoved = false
            var isBlocked = false
            /// Whose account may not run commands.
            var closed: Set<UInt32> = []
            var permissionsAsked: [UInt32] = []
            var now = ContinuousClock.now
        }

        let state = Locked(State())
        private let answer = DispatchSemaphore(value: 0)

        var asked: [UInt32] { state.withLock { $0.asked } }

        func accounts() -> Accounts {
            Accounts(
                find: { uid throws(StartRefusal) in
                    let (isRemoved, isBlocked) = self.state.withLock { state in
                        state.asked.append(uid)
                        return (state.isRemoved, state.isBlocked)
                    }
                    if isBlocked {
                        self.answer.wait()
                        // The next one, too.
                        self.answer.signal()
                    }
                    if isRemoved { throw StartRefusal("gone") }
                    return Account(
                        uid: uid,
                        gid: uid,
                        groups: [uid],
                        name: "user\(uid)",
                        home: "/",
                        shell: "/bin/sh"
                    )
                },
                permission: { account throws(StartRefusal) in
                    let (isClosed, isBlocked) = self.state.withLock { state in
                        state.permissionsAsked.append(account.uid)
                        return (state.closed.contains(account.uid), state.isBlocked)
                    }
                    if isBlocked {
                        self.answer.wait()
                        self.answer.signal()
                    }
                    if isClosed { throw StartRefusal("closed") }
                },
                now: { self.state.withLock { $0.now } }
            )
        }

        func block() { state.withLock { $0.isBlocked = true } }
        func unblock() { answer.signal() }

        func pass(_ time: Duration) { state.withLock { $0.now += time } }
    }

    @Test("An answer serves for a second, for a name as for a run")
    func remembered() async throws {
        let directory = Directory()
        let accounts = directory.accounts()
        for _ in 1...3 { #expect(try await accounts.account(1).name == "user1") }
        #expect(directory.asked == [1])
        directory.pass(.seconds(2))
        #expect(try await accounts.name(of: 1) == "user1")
        #expect(directory.asked == [1, 1])
        #expect(try await accounts.account(1).uid == 1)
        #expect(try await accounts.name(of: 2) == "user2")
        #expect(directory.asked == [1, 1, 2])
    }

    @Test("Who was removed is refused, and asked about again each time")
    func removed() async throws {
        let directory = Directory()
        let accounts = directory.accounts()
        _ = try await accounts.account(1)
        directory.state.withLock { $0.isRemoved = true }
        directory.pass(.seconds(2))
        for _ in 1...2 {
            await #expect(throws: StartRefusal("gone")) { try await accounts.account(1) }
        }
        await #expect(throws: StartRefusal("gone")) { try await accounts.name(of: 1) }
        directory.state.withLock { $0.isRemoved = false }
        #expect(try await accounts.account(1).name == "user1")
    }

    @Test("A database that does not answer is asked once about each user, and holds up nobody else")
    func blocked() async throws {
        let directory = Directory()
        let accounts = directory.accounts()
        _ = try await accounts.account(1)
        directory.block()
        try await withThrowingTaskGroup { group in
            // More than there are threads for Swift's tasks: were they held up, so would this be.
            for _ in 1...64 { group.addTask { try await accounts.account(2).name } }
            for uid in 3...8 { group.addTask { try await accounts.account(UInt32(uid)).name } }
            while directory.asked.count < 8 { await Task.yield() }
            #expect(try await accounts.account(1).name == "user1")
            #expect(directory.asked.sorted() == [1, 2, 3, 4, 5, 6, 7, 8])
            directory.unblock()
            var names: Set<String> = []
            for try await name in group { names.insert(name) }
            #expect(names == Set((2...8).map { "user\($0)" }))
        }
    }

    @Test("A permission is asked for once in five seconds, whatever the answer was")
    func permission() async throws {
        let directory = Directory()
        let accounts = directory.accounts()
        let (ann, ben) = (try await accounts.account(1), try await accounts.account(2))
        directory.state.withLock { $0.closed = [2] }
        for _ in 1...3 {
            try await accounts.requirePermission(ann)
            await #expect(throws: StartRefusal("closed")) {
                try await accounts.requirePermission(ben)
            }
        }
        #expect(directory.state.withLock { $0.permissionsAsked } == [1, 2])
        directory.state.withLock { $0.closed = [1] }
        directory.pass(.seconds(6))
        try await accounts.requirePermission(ben)
        await #expect(throws: StartRefusal("closed")) { try await accounts.requirePermission(ann) }
    }

    @Test("That there was no descriptor to ask with is no answer, and not remembered")
    func shortage() async throws {
        let asked = Locked(0)
        let directory = Directory()
        let accounts = Accounts(
            permission: { _ throws(StartRefusal) in
                let isFirst = asked.withLock { count in
                    count += 1
                    return count == 1
                }
                if isFirst { throw StartRefusal("too many open files", on: .shortage) }
            }
        )
        let ann = try await directory.accounts().account(1)
        await #expect(throws: StartRefusal.self) { try await accounts.requirePermission(ann) }
        try await accounts.requirePermission(ann)
    }

    @Test("Without a descriptor neither PAM nor the user database refuses anybody for good")
    func withoutDescriptors() async {
        await #expect(processExitsWith: .success) {
            let root = Account.own(uid: 0)
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let before = limit.rlim_cur
            limit.rlim_cur = 0
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let refusals = [
                #expect(throws: StartRefusal.self) { try AccountManagement.check(root) },
                #expect(throws: StartRefusal.self) { try Account.find(uid: 4_294_900_001) },
            ]
            let own = Account.own(uid: 0)
            limit.rlim_cur = before
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #expect(root.name == "root" && own == root)
            #expect(
                refusals.map { $0?.message } == [
                    "cannot ask PAM whether account 'root' may run commands: too many open files",
                    "cannot look up user 4294900001: too many open files",
                ]
            )
            #expect(refusals.allSatisfy { $0?.subject == .shortage })
        }
    }

    @Test("An answer about one user that does not come holds up no run of another")
    func slowPermission() async throws {
        let directory = Directory()
        let accounts = directory.accounts()
        var users: [Account] = []
        for uid in 1...21 { users.append(try await accounts.account(UInt32(uid))) }
        try await accounts.requirePermission(users[0])
        directory.block()
        try await withThrowingTaskGroup { group in
            for user in users.dropFirst() {
                for _ in 1...3 { group.addTask { try await accounts.requirePermission(user) } }
            }
            // Each once, and all of them at once.
            while directory.state.withLock({ $0.permissionsAsked.count }) < 21 {
                await Task.yield()
            }
            try await accounts.requirePermission(users[0])
            directory.unblock()
            try await group.waitForAll()
        }
        #expect(directory.state.withLock { $0.permissionsAsked.count } == 21)
    }

    @Test("Of very many users it does not remember all")
    func bounded() async throws {
        let directory = Directory()
        let accounts = directory.accounts()
        for uid in 0...UInt32(Accounts.most) { _ = try await accounts.account(uid) }
        let count = directory.asked.count
        _ = try await accounts.account(0)
        #expect(directory.asked.count == count + 1)
    }
}
