// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

@Suite("AccessPolicy") struct AccessPolicyTests {
    @Test("A list of unknown names alone leaves root alone, and any name that is known does not")
    func unknownNames() {
        var admission = AccessPolicy(owner: 0, isShared: true)
        admission.users.uid = { $0 == "ann" ? 1001 : nil }
        admission.users.gid = { _ in nil }
        for (allow, isAlone): ([String], Bool) in [
            ([], false), (["bob"], true), (["bob", "@staff"], true), (["bob", "ann"], false),
            (["bob", "1002"], false),
        ] {
            admission.allow = allow.compactMap(AccessPolicy.Entry.init)
            #expect(admission.leavesRootAlone(admission.unknownNames()) == isAlone, "\(allow)")
        }
        // A daemon for one user has nobody to lock out.
        admission.isShared = false
        admission.allow = [.user("bob")]
        #expect(!admission.leavesRootAlone(admission.unknownNames()))
    }

    /// ann is 1001 in the groups ann (1001) and staff (50); ben is 1002, in the group ben alone.
    static let users = UserDirectory(
        uid: { ["ann": 1001, "ben": 1002, "root": 0][$0] },
        gid: { ["ann": 1001, "ben": 1002, "staff": 50][$0] },
        groups: { [1001: [1001, 50], 1002: [1002]][$0] ?? [] }
    )

    struct Example: Sendable, CustomTestStringConvertible {
        var allow: [String] = []
        var deny: [String] = []
        /// Of the uids 0, 1001, 1002 and 1003.
        var admitted: [UInt32]
        var testDescription: String { "allow \(allow) deny \(deny)" }
    }

    static let examples = [
        Example(admitted: [0, 1001, 1002, 1003]),
        Example(allow: ["ann"], admitted: [0, 1001]),
        Example(allow: ["1003"], admitted: [0, 1003]),
        Example(allow: ["@staff"], admitted: [0, 1001]),
        Example(allow: ["@staff", "1002"], admitted: [0, 1001, 1002]),
        Example(allow: ["nobody-here", "@none"], admitted: [0]),
        Example(deny: ["ann"], admitted: [0, 1002, 1003]),
        Example(deny: ["@staff"], admitted: [0, 1002, 1003]),
        Example(deny: ["1002"], admitted: [0, 1001, 1003]),
        Example(deny: ["root", "0"], admitted: [0, 1001, 1002, 1003]),
        Example(allow: ["ann", "ben"], deny: ["@staff"], admitted: [0, 1002]),
        Example(deny: ["nobody-here", "@none"], admitted: [0, 1001, 1002, 1003]),
    ]

    @Test(
        "Root always may; deny comes before allow, and no allow is everybody",
        arguments: examples
    )
    func lists(example: Example) {
        let admission = AccessPolicy(
            owner: 0,
            isShared: true,
            allow: example.allow.compactMap(AccessPolicy.Entry.init),
            deny: example.deny.compactMap(AccessPolicy.Entry.init),
            users: Self.users
        )
        let admitted = [0, 1001, 1002, 1003].filter { uid in
            admission.refusal(of: Peer(uid: uid, gid: uid, pid: 1)) == nil
        }
        #expect(admitted == example.admitted)
    }

    @Test(
        "Users whom the daemon's user namespace does not have are refused, as they all look alike"
    )
    func unmapped() {
        var admission = AccessPolicy(owner: 0, isShared: true)
        admission.unmapped = 65_534
        let error = admission.refusal(of: Peer(uid: 65_534, gid: 65_534, pid: 1))
        #expect(error?.reason == .notPermitted)
        #expect(admission.refusal(of: Peer(uid: 1001, gid: 1001, pid: 1)) == nil)
        for (map, unmapped) in [
            ("         0          0 4294967295\n", nil), ("0 1000 1\n1 100000 65536\n", 65_534),
            ("0 0 4294967294\n", 65_534),
        ] as [(String, UInt32?)] {
            #expect(UserNamespace.unmapped(map: map, overflow: "65534\n") == unmapped)
        }
    }

    @Test("A group that the process has counts, beside those of its user")
    func processGroup() {
        let admission = AccessPolicy(
            owner: 0,
            isShared: true,
            allow: [.group("staff")],
            users: Self.users
        )
        #expect(admission.refusal(of: Peer(uid: 1003, gid: 50, pid: 1)) == nil)
    }

    @Test("While the user database cannot be read, nobody is let in by name or past one")
    func unreadable() {
        struct Down: Error {}
        let users = UserDirectory(
            uid: { _ in throw Down() },
            gid: { _ in throw Down() },
            groups: { _ in throw Down() }
        )
        for (allow, deny) in [(["ann"], []), ([], ["ann"]), ([], ["@staff"])] {
            let admission = AccessPolicy(
                owner: 0,
                isShared: true,
                allow: allow.compactMap(AccessPolicy.Entry.init),
                deny: deny.compactMap(AccessPolicy.Entry.init),
                users: users
            )
            let peer = Peer(uid: 1001, gid: 1001, pid: 1)
            #expect(admission.refusal(of: peer)?.reason == .notPermitted)
            #expect(admission.needsLookup(for: peer))
            #expect(admission.refusal(of: Peer(uid: 0, gid: 0, pid: 1)) == nil)
        }
    }

    @Test("A user's own daemon serves that user and root")
    func ownDaemon() {
        let admission = AccessPolicy(owner: 1001)
        #expect(admission.refusal(of: Peer(uid: 1001, gid: 1, pid: 1)) == nil)
        #expect(admission.refusal(of: Peer(uid: 0, gid: 0, pid: 1)) == nil)
        #expect(
            admission.refusal(of: Peer(uid: 1002, gid: 1, pid: 1))?.message
                == "uid 1002 may not use this daemon; accepted are uid 1001 and root"
        )
    }

    @Test(
        "What is no uid, user or group is no entry",
        arguments: [
            "", "@", "@@a", "a b", "a:b", "4294967295", "99999999999", "a\n", "\u{1b}[1m",
        ]
    )
    func badEntries(text: String) { #expect(AccessPolicy.Entry(text) == nil) }

    @Test("The system's user database knows root, and says nil for nobody")
    func system() throws {
        #expect(try UserDirectory.system.uid("root") == 0)
        #expect(try UserDirectory.system.gid("root") == 0)
        #expect(try UserDirectory.system.groups(0).contains(0))
        #expect(try UserDirectory.system.uid("no-such-user-here") == nil)
        #expect(try UserDirectory.system.gid("no-such-group-here") == nil)
        #expect(try UserDirectory.system.groups(4_000_000_000) == [])
    }

    @Test("A peer who is denied by name gets one line, over the socket too")
    func overSocket() async throws {
        // The daemon of somebody else, whose list leaves out whoever runs this, unless that is root.
        let users = UserDirectory(uid: { _ in getuid() }, gid: { _ in nil }, groups: { _ in [] })
        let admission = AccessPolicy(owner: 1, isShared: true, deny: [.user("me")], users: users)
        try await TestSocket.with(admission: admission) { server in
            let client = try await server.connect()
            guard getuid() != 0 else {
                try await client.send(status(1))
                await client.expect(
                    #"{"id":1,"jsonrpc":"2.0","result":{"method":"daemon.status"}}"#
                )
                return
            }
            let line = try await client.nextValue()["error"]?.decoded(as: ControlError.self)
            #expect(line?.message.contains("'deny' has 'me'") == true)
            await client.expectEnd()
        }
    }

    @Test(
        "Whom a second reload denies while he is decided on again does not come in",
        .enabled(if: geteuid() == 0)
    )
    func reloadedTwice() async throws {
        func slow(_ asked: Tally, _ answer: DispatchSemaphore) -> AccessPolicy {
            let users = UserDirectory(
                uid: { _ in
                    asked.add()
                    answer.wait()
                    return 70_002
                },
                gid: { _ in nil },
                groups: { _ in [] }
            )
            return AccessPolicy(owner: 0, isShared: true, deny: [.user("x")], users: users)
        }
        let (first, second) = (Tally(), Tally())
        let answers = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]
        try await TestSocket.with(admission: slow(first, answers[0])) { server in
            // The folder is for the test's user alone.
            chmod((server.path as NSString).deletingLastPathComponent, 0o755)
            let client = """
                use IO::Socket::UNIX; $SIG{PIPE} = 'IGNORE';
                my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
                print $s '{"jsonrpc":"2.0","id":1,"method":"daemon.status"}' . "\\n"; $s->flush;
                print scalar readline($s);
                """
            let words = DaemonProcess.words(as: 70_001, ["perl", "-e", client, server.path])
            let line = Task { try await Tool.run(words) }
            await first.reach(1)
            await server.socket.reload(
                ControlSocket.Settings(path: server.path, admission: slow(second, answers[1]))
            )
            answers[0].signal()
            await second.reach(1)
            let denying = AccessPolicy(owner: 0, isShared: true, deny: [.uid(70_001)])
            await server.socket.reload(
                ControlSocket.Settings(path: server.path, admission: denying)
            )
            answers[1].signal()
            let said = try await line.value
            #expect(said.contains("its setting 'deny' has '70001'"), "\(said)")
        }
    }

    @Test(
        "Whom a later reload allows stays, whatever an earlier one comes to after it",
        .enabled(if: geteuid() == 0)
    )
    func overtakenReload() async throws {
        let (asked, answer) = (Tally(), DispatchSemaphore(value: 0))
        let users = UserDirectory(
            uid: { _ in
                asked.add()
                answer.wait()
                return 70_001
            },
            gid: { _ in nil },
            groups: { _ in [] }
        )
        let denying = AccessPolicy(owner: 0, isShared: true, deny: [.user("x")], users: users)
        let open = AccessPolicy(owner: 0, isShared: true)
        try await TestSocket.with(admission: open) { server in
            // The folder is for the test's user alone.
            chmod((server.path as NSString).deletingLastPathComponent, 0o755)
            let client = """
                use IO::Socket::UNIX;
                my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
                select(undef, undef, undef, 0.01) until -e "$ARGV[0].go";
                print $s '{"jsonrpc":"2.0","id":1,"method":"daemon.status"}' . "\\n"; $s->flush;
                print scalar readline($s);
                """
            let words = DaemonProcess.words(as: 70_001, ["perl", "-e", client, server.path])
            let line = Task { try await Tool.run(words) }
            try await eventually("the user is connected") { server.socket.connectionCount == 1 }
            for admission in [denying, open] {
                await server.socket.reload(
                    ControlSocket.Settings(path: server.path, admission: admission)
                )
                await asked.reach(1)
            }
            answer.signal()
            // Until these are answered the loop has heard of it.
            for _ in 1...3 { try await server.roundTrip() }
            try "".write(toFile: server.path + ".go", atomically: false, encoding: .utf8)
            #expect(try await line.value.contains("daemon.status"))
        }
    }

    @Test(
        "Who is denied while a request is in progress hears the end, and no refusal of that request",
        .enabled(if: geteuid() == 0),
        .timeLimit(.minutes(2))
    )
    func deniedInProgress() async throws {
        let (begun, gate) = (Tally(), Gate())
        let open = AccessPolicy(owner: 0, isShared: true)
        try await TestSocket.with(admission: open) { request, _ in
            begun.add()
            await gate.pass()
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            // The folder is for the test's user alone.
            chmod((server.path as NSString).deletingLastPathComponent, 0o755)
            let client = """
                use IO::Socket::UNIX;
                my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
                print $s '{"jsonrpc":"2.0","id":1,"method":"daemon.status"}' . "\\n"; $s->flush;
                print scalar(readline($s)) // "the end";
                """
            let words = DaemonProcess.words(as: 70_001, ["perl", "-e", client, server.path])
            let line = Task { try await Tool.run(words) }
            await begun.reach(1)
            var denying = open
            denying.deny = [.uid(70_001)]
            await server.socket.reload(
                ControlSocket.Settings(path: server.path, admission: denying)
            )
            let said = try await line.value
            #expect(said.contains("the end"), "\(said)")
            gate.open()
        }
    }

    @Test("Who waits for the user database counts as connected", .enabled(if: geteuid() == 0))
    func pending() async throws {
        let answer = DispatchSemaphore(value: 0)
        let users = UserDirectory(
            uid: { _ in
                answer.wait()
                answer.signal()
                return nil
            },
            gid: { _ in nil },
            groups: { _ in [] }
        )
        let admission = AccessPolicy(owner: 0, isShared: true, deny: [.user("x")], users: users)
        let settings: (inout ControlSocket.Settings) -> Void = { $0.maxConnectionsPerUser = 2 }
        try await TestSocket.with(admission: admission, settings: settings) { server in
            // The folder is for the test's user alone.
            chmod((server.path as NSString).deletingLastPathComponent, 0o755)
            let client = """
                use IO::Socket::UNIX;
                my @all = map { IO::Socket::UNIX->new(Peer => $ARGV[0]) or die } 1 .. 3;
                print scalar readline($all[2]);
                """
            let words = DaemonProcess.words(as: 70_001, ["perl", "-e", client, server.path])
            let line = try await Tool.run(words)
            #expect(line.contains("uid 70001 has 2 connections open; maxConnectionsPerUser is 2"))
            #expect(server.socket.connectionCount == 0)
            answer.signal()
        }
    }
}
