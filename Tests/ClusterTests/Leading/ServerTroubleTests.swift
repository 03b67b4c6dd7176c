// SPDX-License-Identifier: Apache-2.0

import Cluster
import TestPostgres
import Testing

@Suite(
    "A PostgreSQL that is away",
    .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(2))
)
struct ServerTroubleTests {
    @Test("It is killed and started again: one leads again, and each trouble is told once")
    func killed() async throws {
        let server = try PostgresServer()
        let database = NodeDatabase(server)
        let first = try WatchedNode("first", on: database)
        try first.leads()
        let second = try WatchedNode("second", on: database)
        try second.waitFor(.leader("first"))
        server.kill()
        try first.waitFor(.stop(.leaseOver))
        try second.waitFor(.away)
        try server.start()
        try first.waitFor(.recovered)
        try second.waitFor(.recovered)
        while ![first, second].contains(where: { $0.keeper.fence.isOpen }) { await Task.yield() }
        for node in [first, second] {
            #expect(node.all.filter { $0 == .away }.count == 1)
            await node.keeper.stop()
        }
    }

    @Test("It hangs: the node that leads begins nothing after its lease, and leads again")
    func hangs() async throws {
        let server = try PostgresServer()
        let database = NodeDatabase(server)
        let node = try WatchedNode("node", on: database)
        let epoch = try node.leads()
        #expect(node.keeper.fence.isOpen)
        server.pause()
        let paused = Fence.now()
        // What is under way may still be answered; nothing later is.
        while node.keeper.fence.isOpen, Fence.now() < paused + 3_000_000 { await Task.yield() }
        #expect(!node.keeper.fence.isOpen)
        try node.waitFor(.stop(.leaseOver))
        try node.waitFor(.away)
        #expect(!node.all.contains(.recovered))
        server.resume()
        try node.leads(after: epoch)
        await node.keeper.stop()
    }

    @Test("A node that ends while the database is away ends nevertheless")
    func leaves() async throws {
        let server = try PostgresServer()
        let node = try WatchedNode("node", on: NodeDatabase(server))
        try node.leads()
        server.kill()
        await node.keeper.release()
        #expect(!node.keeper.fence.isOpen)
    }
}
