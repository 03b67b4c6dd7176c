// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Subscription") struct SubscriptionTests {
    @Test(
        "Whatever comes when, each event is sent once, in order, and none is missed",
        arguments: [nil, 0, 1, 2, 3, 7] as [Int64?]
    )
    func everyInterleaving(since: Int64?) {
        for room in [1, 2, 5] {
            for ring in [1, 2, 3] {
                let states = explore(SubscriptionModel(since: since, room: room, ring: ring))
                #expect(states > 30, "the model has to move")
            }
        }
    }

    @Test(
        "Events that were pruned before they were read are told as lost, once",
        arguments: [1, 3]
    )
    func pruned(since: Int64) {
        for room in [1, 2, 5] {
            var model = SubscriptionModel(since: since, room: room, ring: 2)
            model.mayPrune = true
            #expect(explore(model) > 30, "the model has to move")
        }
    }

    @Test("Who asks for all that is kept is told what is not, once")
    func allThatIsKept() {
        for owner in [nil, Owner(uid: 1001)] {
            var subscription = Subscription(request(since: 0), owner: owner, newest: 9)
            subscription.begin()
            _ = subscription.step(ring: EventRing(capacity: 4, newest: 9), newest: 9)
            let page = EventPage(events: [], isLast: true, prunedThrough: 5)
            let lost = subscription.missed(by: page)
            #expect(lost == EventsLost(after: 0, through: 5))
            let again = subscription.missed(by: page)
            #expect(again == nil)
        }
    }

    @Test("What is kept of other users comes, though later events of one have gone")
    func keptOfOthers() {
        var subscription = Subscription(request(since: 0), owner: nil, newest: 9)
        subscription.begin()
        _ = subscription.step(ring: EventRing(capacity: 4, newest: 9), newest: 9)
        let page = EventPage(events: [event(2), event(7)], isLast: true, prunedThrough: 5)
        let lost = subscription.missed(by: page)
        #expect(lost?.through == 5)
        let isSent = page.events.map { subscription.take($0) }
        #expect(isSent == [true, true])
    }

    @Test("Only events of one's own jobs are sent, and those without an owner to nobody but root")
    func owners() {
        var own = event(1, .fireFired, job: 1)
        own.owner = Owner(uid: 1001)
        var strange = event(2, .fireFired, job: 1)
        strange.owner = Owner(uid: 1002)
        let unknown = event(3, .fireFired, job: 1)
        for (owner, seqs) in [(1001, [1]), (1002, [2]), (1003, []), (nil, [1, 2, 3])]
            as [(UInt32?, [Int64])]
        {
            var subscription = Subscription(
                Subscribe(),
                owner: owner.map { Owner(uid: $0) },
                newest: 0
            )
            let sent = [own, strange, unknown].filter { subscription.take($0) }
            #expect(sent.map(\.seq) == seqs)
            #expect(subscription.cursor == 3)
        }
    }

    @Test("Only events of the types and jobs that were asked for are sent")
    func filters() {
        var request = Subscribe()
        request.types = [.fireFired, .jobAdded]
        request.jobs = [JobID(rawValue: 2), JobID(rawValue: 3)]
        var subscription = Subscription(request, owner: nil, newest: 0)
        let events = [
            event(1, .fireFired, job: 1), event(2, .jobPaused, job: 2),
            event(3, .fireFired, job: 2), event(4, .jobAdded, job: 3),
            event(4, .jobAdded, job: 3),
        ]
        let isSent = events.map { subscription.take($0) }
        #expect(isSent == [false, false, true, true, false], "the last one for the second time")
        #expect(subscription.cursor == 4)
    }

    @Test("Without a since, what was published before is not sent")
    func fromNow() {
        var subscription = Subscription(Subscribe(), owner: nil, newest: 7)
        let isSent = [event(7), event(8)].map { subscription.take($0) }
        #expect(isSent == [false, true])
    }

    /// Walks through every state that the model can reach; how many there are.
    private func explore(_ start: SubscriptionModel) -> Int {
        var seen: Set<String> = []
        var open = [start]
        while let model = open.popLast() {
            guard seen.insert(model.key).inserted else { continue }
            var settled = model
            settled.settle()
            guard settled.fault == nil, settled.unsent == [] else {
                Issue.record(
                    "\(settled.fault ?? "\(settled.unsent) are never sent") after \(settled.path)"
                )
                return seen.count
            }
            for move in model.moves {
                var next = model
                next.make(move)
                open.append(next)
            }
        }
        return seen.count
    }

    @Test("The ring lets go of the oldest events beyond so many, and beyond so many bytes")
    func ring() {
        var ring = EventRing(capacity: 3, byteLimit: 1000, newest: 0)
        for seq in 1...4 as ClosedRange<Int64> { ring.append(SharedEvent(event(seq))) }
        #expect(ring.events(after: 0) == nil)
        #expect(ring.events(after: 1)?.map(\.event.seq) == [2, 3, 4])
        var large = event(5)
        large.userInfo = JSONText(.string(String(repeating: "x", count: 800)))
        ring.append(SharedEvent(large))
        #expect(ring.floor == 4)
        #expect(ring.events(after: 4)?.map(\.event.seq) == [5])
    }
}

private func request(since: Int64?) -> Subscribe {
    var request = Subscribe()
    request.since = since
    return request
}

private func event(_ seq: Int64, _ type: Event.Kind = .fireFired, job: Int64 = 1) -> Event {
    Event(seq: seq, type: type, at: .init(microseconds: seq), job: JobID(rawValue: job))
}

/// A watcher, the bus, the database and the socket, in steps that may come in any order.
///
/// Events 1, 2 and 3 are there before it subscribes; 7, 8, 9 and 12 are published while it watches.
/// A page has two.
private struct SubscriptionModel {
    enum Move: Equatable { case begin, publish, deliver, read, arrive, drain, prune }

    private enum Page {
        case none
        case asked(after: Int64)
        case read(EventPage)
    }

    var mayPrune = false
    private var subscription: Subscription
    private var ring: EventRing
    private var stored: [Int64] = [1, 2, 3]
    /// Told as lost, of which some may come all the same.
    private var perhaps: [Int64] = []
    private var prunedThrough: Int64 = 0
    private var coming: [Int64] = [7, 8, 9, 12]
    private var newest: Int64 = 3
    private var inbox: [Int64] = []
    private var page = Page.none
    private let capacity: Int
    private var room: Int
    /// What still has to be sent, of what has been published.
    private(set) var unsent: [Int64]
    private(set) var fault: String?
    private(set) var path: [Move] = []

    init(since: Int64?, room: Int, ring capacity: Int) {
        ring = EventRing(capacity: capacity, newest: 3)
        // A number that has not been given yet stands for the newest.
        let since = since.map { min($0, 3) }
        subscription = Subscription(request(since: since), owner: nil, newest: 3)
        unsent = stored.filter { $0 > since ?? 3 }
        self.capacity = room
        self.room = room
    }

    /// All that tells this state from others.
    var key: String {
        "\(subscription) \(ring.floor) \(ring.events(after: ring.floor)?.map(\.event.seq) ?? []) "
            + "\(coming) \(inbox) \(page) \(room) \(unsent) \(prunedThrough) \(perhaps)"
    }

    var moves: [Move] {
        var moves: [Move] = []
        if subscription.phase == .waiting { moves.append(.begin) }
        if !coming.isEmpty { moves.append(.publish) }
        if !inbox.isEmpty { moves.append(.deliver) }
        if case .asked = page { moves.append(.read) }
        if case .read = page { moves.append(.arrive) }
        if room == 0 { moves.append(.drain) }
        if mayPrune, prunedThrough == 0 { moves.append(.prune) }
        return moves
    }

    /// Makes moves until there are none, or something is wrong.
    mutating func settle() {
        while fault == nil, let move = moves.first {
            if path.count > 200 { fault = "there is no end" } else { make(move) }
        }
    }

    mutating func make(_ move: Move) {
        path.append(move)
        switch move {
        case .begin:
            subscription.begin()
            resume()
        case .publish:
            let seq = coming.removeFirst()
            stored.append(seq)
            unsent.append(seq)
            inbox.append(seq)
            newest = seq
        case .deliver:
            for seq in inbox {
                ring.append(SharedEvent(event(seq)))
                receive(event(seq))
            }
            inbox = []
        case .read:
            if case .asked(let after) = page {
                let events = stored.filter { $0 > after && $0 > prunedThrough }
                page = .read(
                    EventPage(
                        events: events.prefix(2).map { event($0) },
                        isLast: events.count < 2,
                        prunedThrough: prunedThrough
                    )
                )
            }
        case .arrive: arrive()
        case .drain:
            room = capacity
            resume()
        case .prune: prunedThrough = stored.last ?? 0
        }
    }

    // As Watcher does it.

    private mutating func resume() {
        while subscription.phase == .behind, room > 0 {
            switch subscription.step(ring: ring, newest: newest) {
            case .goLive(let events): for shared in events { receive(shared.event) }
            case .read(let after): page = .asked(after: after)
            }
        }
    }

    private mutating func receive(_ event: Event) {
        guard subscription.phase == .live else { return }
        guard room > 0 else { return subscription.fallBehind() }
        if subscription.take(event) { send(event.seq) }
    }

    private mutating func arrive() {
        guard case .read(let read) = page else { return }
        page = .none
        if let lost = subscription.missed(by: read) {
            if !unsent.contains(where: { $0 > lost.after && $0 <= lost.through }) {
                fault = "\(lost) is told, where nothing was lost"
            }
            // The ring may still have them.
            perhaps += unsent.filter { $0 <= lost.through }
            unsent.removeAll { $0 <= lost.through }
        }
        for event in read.events where room > 0 && subscription.take(event) { send(event.seq) }
        if room > 0 {
            subscription.pageTaken(isLast: read.isLast)
        } else {
            subscription.fallBehind()
        }
        resume()
    }

    private mutating func send(_ seq: Int64) {
        room -= 1
        if unsent.first == seq {
            unsent.removeFirst()
        } else if let index = perhaps.firstIndex(of: seq), unsent.allSatisfy({ $0 > seq }) {
            perhaps.removeSubrange(...index)
        } else {
            fault = "\(seq) is sent where \(unsent) are due"
        }
    }
}
