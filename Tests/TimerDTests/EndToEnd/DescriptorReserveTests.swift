// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import LinuxSystem
@testable import TimerD

/// What the daemon keeps for itself of the descriptors that it may have.
@Suite("Reserve of descriptors", .timeLimit(.minutes(3))) struct DescriptorReserveTests {
    @Test("An eighth is kept, 16 to 64, of which root may have half")
    func reserve() {
        #expect([40, 300, 512, 1 << 20].map(DescriptorLimit.reserve) == [16, 37, 64, 64])
        #expect(DescriptorLimit.refusal(next: 959, limit: 1024, kept: 64) == nil)
        #expect(
            DescriptorLimit.refusal(next: 960, limit: 1024, kept: 64)
                == "960 of 1024 descriptors are open, the last 64 are for timerd itself"
        )
        #expect(DescriptorLimit.refusal(isAdministrator: true, opened: .max) != nil)
    }

    @Test(
        "Of fewer connections than the settings have a user gets the same share, told at the start"
    )
    func warning() {
        let settings = TimerD.Configuration(database: "/d", socket: "/s")
        #expect(settings.wantOfDescriptors(of: 4096) == nil)
        #expect(
            settings.wantOfDescriptors(of: 1024)
                == "'maxConnections' is 1000, and timerd may have 1024 descriptors (LimitNOFILE=, ulimit -n): "
                + "it is taken as 672, and 'maxConnectionsPerUser', which is 900, as 604"
        )
        for limit in [64, 80, 256, 512, 1024] {
            let (all, ofUser) = settings.connections(within: limit)
            #expect(ofUser < all, "others find a place at \(limit)")
        }
        let (all, ofUser) = settings.connections(within: 4096)
        #expect(all == 1000 && ofUser == 900)
    }

    @Test(
        "Who opens all the connections that he can is told why, and others' runs and names go on",
        .enabled(if: geteuid() == 0)
    )
    func fullOfOneUser() async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try #"{"deny": ["\#(ben.name)"]}"#
                .write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.start(
                ["--config", file],
                through: ["prlimit", "--nofile=300:300"]
            )
            #expect(daemon.log.contains("timerd may have 300 descriptors"), "\(daemon.log)")
            let words = ["add", "--in", "1h", "--user", ann.name, "--", "true"]
            let added = try await daemon.timerctl(words)
            try #require(added.status == 0, "\(added.errors)")
            var peers: [UserPeer] = []
            defer { for peer in peers { peer.close() } }
            for _ in 0..<290 {
                peers.append(try #require(UserPeer(daemon.socket, uid: ann.uid)))
            }
            let line = try #require(peers.last).nextLine()
            #expect(line.contains("limitReached"), "\(line)")
            #expect(
                line.contains("is taken as 140, as timerd may have 300 descriptors"),
                "\(line)"
            )

            let job = added.output.trimmingCharacters(in: .newlines)
            let fired = try await daemon.timerctl("fire", job)
            #expect(fired.status == 0, "root is served: \(fired.errors)")
            #expect(try await daemon.finishedRun(job).status == 0)

            peers.removeFirst().close()
            try await eventually("who is denied by name is refused for that") {
                guard let peer = UserPeer(daemon.socket, uid: ben.uid) else { return false }
                defer { peer.close() }
                return try peer.nextLine().contains("'deny' has '\(ben.name)'")
            }
        }
    }
}
