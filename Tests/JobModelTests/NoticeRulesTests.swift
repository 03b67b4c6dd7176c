// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import JobModel

@Suite("What is told of a job") struct NoticeRulesTests {
    private static func rules(
        _ change: (inout JobDefinition) -> Void = { _ in },
        defaults: NoticePolicy.Defaults = NoticePolicy.Defaults()
    ) throws -> NoticeRules {
        var definition = JobDefinition(schedule: ScheduleWords(in: "1s"))
        change(&definition)
        return NoticeRules(try NoticePolicy(stated: definition), defaults)
    }

    private static let all = NoticeReason.words

    @Test(
        "The end of a fire is told by how it ended and how the one before did",
        arguments: [
            (false, false, [NoticeReason.failed]), (false, true, [.failed]),
            (true, false, [.succeeded]), (true, true, [.recovered, .succeeded]),
        ]
    )
    func ends(isSuccess: Bool, isFailing: Bool, reasons: [NoticeReason]) throws {
        let rules = try Self.rules { ($0.notify, $0.notifyOn) = (["mail"], Self.all) }
        #expect(rules.reasons(ofEnd: isSuccess, isFailing: isFailing) == reasons)
    }

    @Test("Failed, missed and recovered are told unless the job says otherwise")
    func standard() throws {
        let rules = try Self.rules { $0.notify = ["mail"] }
        #expect(rules.reasons == [.failed, .missed, .recovered])
        #expect(rules.reasons(ofEnd: true, isFailing: false) == [])
        #expect(rules.every == .seconds(3600))
        let failed = try Self.rules { ($0.notify, $0.notifyOn) = (["mail"], ["failed"]) }
        #expect(failed.reasons(ofEnd: true, isFailing: true) == [])
        #expect(failed.reason(ofSkipped: .misfire) == nil)
    }

    @Test("A job's runs concern who is pinged, or is told of how they ended")
    func concernsRuns() throws {
        func concerns(_ change: (inout JobDefinition) -> Void) throws -> Bool {
            try Self.rules(change).concernsRuns
        }
        #expect(try !concerns { _ in })
        #expect(try concerns { $0.ping = "https://ping.example/1" })
        #expect(try concerns { ($0.notify, $0.notifyOn) = (["mail"], ["succeeded"]) })
        #expect(try !concerns { ($0.notify, $0.notifyOn) = (["mail"], ["missed"]) })
        #expect(try !concerns { ($0.notify, $0.notifyOn) = (["none"], ["failed"]) })
    }

    @Test("A date is missed that neither a user nor a rule of the job wanted to drop")
    func missed() {
        #expect(
            FireReason.allCases.filter(\.isMissed) == [
                .misfire, .coalesced, .misfireLimit, .misfireWindow, .overload, .clockStepped,
                .zoneChanged, .held, .expired,
            ]
        )
    }

    @Test("Nothing is told of a job without places")
    func nowhere() throws {
        let rules = try Self.rules { $0.notifyOn = Self.all }
        #expect(rules.reasons(ofEnd: false, isFailing: false) == [] && !rules.concernsRuns)
        #expect(!rules.isLate(.seconds(1_000_000)))
        #expect(rules.reason(ofSkipped: .overlap) == nil)
    }

    @Test("The daemon's places and reasons count for what a job does not say")
    func defaults() throws {
        var defaults = NoticePolicy.Defaults()
        (defaults.places, defaults.reasons) = ([.mail("root")], [.late])
        #expect(try Self.rules(defaults: defaults).places == [.mail("root")])
        #expect(try Self.rules(defaults: defaults).reasons == [.late])
        let own = try Self.rules(
            { ($0.notify, $0.notifyOn) = (["desktop"], ["failed"]) },
            defaults: defaults
        )
        #expect(own.places == [.desktop] && own.reasons == [.failed])
        #expect(try Self.rules({ $0.notify = ["none"] }, defaults: defaults).places == [])
        #expect(try Self.rules({ $0.notify = [] }, defaults: defaults).places == [.mail("root")])
    }

    @Test(
        "A date that nothing stands for is missed; one that its user dropped is nobody's business",
        arguments: FireReason.allCases
    )
    func skipped(reason: FireReason) throws {
        let rules = try Self.rules { ($0.notify, $0.notifyOn) = (["mail"], Self.all) }
        let missed: Set<FireReason> = [
            .misfire, .misfireLimit, .misfireWindow, .overload, .held, .clockStepped, .zoneChanged,
            .expired,
        ]
        let skipped: Set<FireReason> = [.overlap, .replaced, .lineFull]
        let expected: NoticeReason? =
            missed.contains(reason) ? .missed : skipped.contains(reason) ? .skipped : nil
        #expect(rules.reason(ofSkipped: reason) == expected)
    }

    @Test("Who says how late is too late is told of it, unless the reasons are stated without it")
    func late() throws {
        let stated = try Self.rules { ($0.notify, $0.notifyLate) = (["mail"], "5min") }
        #expect(stated.isLate(.seconds(301)) && !stated.isLate(.seconds(300)))
        let reason = try Self.rules { ($0.notify, $0.notifyOn) = (["mail"], ["late"]) }
        #expect(reason.isLate(.seconds(61)) && !reason.isLate(.seconds(60)))
        #expect(try !Self.rules { $0.notify = ["mail"] }.isLate(.seconds(10_000)))
        let without = try Self.rules {
            ($0.notify, $0.notifyLate, $0.notifyOn) = (["mail"], "5min", ["failed"])
        }
        #expect(!without.isLate(.seconds(301)))
    }

    private static let start = Timestamp(microseconds: 0)

    @Test("One notice goes in a span, and then the summary of what came between")
    func limit() {
        var last: NoticeLimit?
        func decide(at second: Int64) -> NoticeLimit.Decision {
            let now = Self.start + .seconds(second)
            let decision = NoticeLimit.decide(after: last, every: .seconds(100), at: now)
            switch decision {
            case .tell: last = NoticeLimit(toldAt: now)
            case .hold(let date): last = NoticeLimit(toldAt: date)
            }
            return decision
        }
        #expect(decide(at: 0) == .tell)
        #expect(decide(at: 10) == .hold(until: Self.start + .seconds(100)))
        #expect(decide(at: 99) == .hold(until: Self.start + .seconds(100)))
        // The summary has gone at 100, and is a notice as well.
        #expect(decide(at: 101) == .hold(until: Self.start + .seconds(200)))
        #expect(decide(at: 300) == .tell)
        #expect(decide(at: 400) == .tell)
    }

    @Test("With a span of 0 each notice goes")
    func unlimited() {
        let last = NoticeLimit(toldAt: Self.start)
        #expect(NoticeLimit.decide(after: last, every: .zero, at: Self.start) == .tell)
    }

    @Test("A notice is tried again after 1 min, doubled up to 1 h")
    func retries() {
        let minutes = (1...9).map {
            NoticeRetry.delay(afterTries: $0).microseconds / 60_000_000
        }
        #expect(minutes == [1, 2, 4, 8, 16, 32, 60, 60, 60])
    }

    @Test(
        "Nobody has more than two notices and two pings on their way, and who was last is last again"
    )
    func turns() {
        var turns = NoticeTurns()
        let owners = [1, 2, 3].map { OwnerID(rawValue: $0) }
        #expect(turns.order(owners) == owners)
        for isPing in [true, false] {
            turns.begin(owners[0], isPing: isPing)
            #expect(turns.order(owners) == [owners[1], owners[2], owners[0]])
            #expect(turns.hasRoom(for: owners[0], isPing: isPing))
            turns.begin(owners[0], isPing: isPing)
            #expect(!turns.hasRoom(for: owners[0], isPing: isPing))
            #expect(turns.hasRoom(for: owners[0], isPing: !isPing) == isPing)
            #expect(turns.hasRoom(for: owners[1], isPing: isPing))
        }
        turns.end(owners[0], isPing: false)
        #expect(turns.hasRoom(for: owners[0], isPing: false))
        #expect(!turns.hasRoom(for: owners[0], isPing: true))
        for number in 1...NoticeTurns.all {
            turns.begin(OwnerID(rawValue: Int64(100 + number)), isPing: false)
        }
        #expect(turns.isFull && !turns.hasRoom(for: owners[2], isPing: false))
    }

    @Test("Where each user was told last is known while that user's notices wait")
    func places() {
        var turns = NoticeTurns()
        let (ann, ben) = (OwnerID(rawValue: 1), OwnerID(rawValue: 2))
        #expect(turns.lastPlace(of: ann) == "")
        turns.passTurn(to: "mail:ann", of: ann)
        turns.passTurn(to: "mail:ben", of: ben)
        #expect(turns.lastPlace(of: ann) == "mail:ann")
        turns.keepPlaces(of: [ben])
        #expect(turns.lastPlace(of: ann) == "" && turns.lastPlace(of: ben) == "mail:ben")
    }
}
