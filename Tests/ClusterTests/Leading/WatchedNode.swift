// SPDX-License-Identifier: Apache-2.0

import Cluster
import Platform
import Postgres
import Testing

/// A keeper, and what it has told so far; its core stops as soon as it is told.
final class WatchedNode: Sendable {
    enum Told: Equatable, Sendable {
        case lead(Int64)
        case stop(StopReason)
        case leader(String?)
        case refused(ClusterRefusal.Code)
        case away
        case trouble(String)
        case recovered
        case formerName(String)
        case held(by: LockHolder?)

        var isOfLeader: Bool { if case .leader = self { true } else { false } }
    }

    let keeper: NodeKeeper
    private let told: Monitor<[Told]>
    private let former: Monitor<Int64?>

    /// Of tables without jobs.
    static let makingStore = ClusterTables.makingStore(version: 0, fingerprint: 0)

    /// Of a lease whose end a test can wait for, in ms.
    ///
    /// A fifth of it is what a statement may take, also on a busy machine.
    static let short: Int64 = 4000

    /// Starts it; `length`: of the lease, in ms; `stopsByItself`: whether its core stops as soon as it is to.
    init(
        _ name: String,
        on database: NodeDatabase,
        length: Int64 = WatchedNode.short,
        machine: String? = nil,
        unread: Int64 = 100,
        stopsByItself: Bool = true
    ) throws {
        let told = Monitor<[Told]>([])
        let box = Monitor<NodeKeeper?>(nil)
        let former = Monitor<Int64?>(nil)
        let add: @Sendable (Told) -> Void = { one in
            told.withLock { $0.append(one) }
            told.wakeAll()
        }
        keeper = try NodeKeeper(
            NodeKeeper.Settings(
                address: PostgresAddress(database.address),
                node: NodeIdentity(name: name, machine: machine ?? name, version: "1"),
                terms: LeaseTerms(length: length * 1000, unread: unread),
                makingStore: Self.makingStore
            ),
            NodeKeeper.Listeners(
                onLead: { epoch, formerClock in
                    former.withLock { $0 = formerClock }
                    add(.lead(epoch))
                },
                onStopLeading: {
                    add(.stop($0))
                    if stopsByItself { box.withLock { $0 }?.coreStopped() }
                },
                onLeaderChange: { add(.leader($0)) },
                onTrouble: { error in
                    if case .refused(let refusal) = error {
                        add(.refused(refusal.code))
                    } else {
                        add(.away)
                        add(.trouble(error.description))
                    }
                },
                onRecovered: { add(.recovered) },
                onFormerName: { add(.formerName($0)) },
                onHeldLease: { add(.held(by: $0)) }
            )
        )
        self.told = told
        self.former = former
        let keeper = keeper
        // The keeper's listeners hold it, until the test's process ends.
        box.withLock { $0 = keeper }
        try keeper.start()
    }

    /// What it was told, as it began to lead, of the clock of the node that led before.
    var formerClock: Int64? { former.withLock { $0 } }
    var all: [Told] { told.withLock { $0 } }
    /// All of it, but for what a statement that takes too long on a busy machine makes of it, and that it is over.
    var withoutTroubles: [Told] {
        all.filter { told in
            switch told {
            case .away, .trouble, .recovered: false
            default: true
            }
        }
    }

    /// The first that fits, once it was told; `fits` must not ask this node for anything.
    @discardableResult
    func wait<Result>(
        _ what: Comment,
        sourceLocation: SourceLocation = #_sourceLocation,
        for fits: @Sendable (Told) -> Result?
    ) throws -> Result {
        let end = SuspendingClock.now + .patient
        let found: Result? = told.wait { told in
            if let found = told.lazy.compactMap(fits).first { return .found(found) }
            return SuspendingClock.now < end ? .wait(until: end) : .found(nil)
        }
        return try #require(found, what, sourceLocation: sourceLocation)
    }

    /// Waits until it leads: the epoch.
    @discardableResult
    func leads(
        after epoch: Int64 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Int64 {
        try wait("it leads", sourceLocation: sourceLocation) {
            if case .lead(let new) = $0, new > epoch { new } else { nil }
        }
    }

    func waitFor(
        _ expected: Told,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try wait("\(expected)", sourceLocation: sourceLocation) { $0 == expected ? true : nil }
    }
}
