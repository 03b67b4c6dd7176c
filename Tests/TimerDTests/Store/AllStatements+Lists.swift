// SPDX-License-Identifier: Apache-2.0

@testable import TimerD

/// What functions make, for each of their cases; and the statements about the oldest runs and the rules of zones.
extension AllStatements {
    static let queueStore = [
        ("QueueStore.SQL.add", QueueStore.SQL.add),
        ("QueueStore.SQL.all", QueueStore.SQL.all),
        ("QueueStore.SQL.count", QueueStore.SQL.count),
        ("QueueStore.SQL.oldest", QueueStore.SQL.oldest),
        ("QueueStore.SQL.ownerName", QueueStore.SQL.ownerName),
        ("QueueStore.SQL.page", QueueStore.SQL.page),
        ("QueueStore.SQL.queue", QueueStore.SQL.queue),
        ("QueueStore.SQL.removeUnused", QueueStore.SQL.removeUnused),
        ("QueueStore.SQL.set", QueueStore.SQL.set),
        ("QueueStore.SQL.setRateUntil", QueueStore.SQL.setRateUntil),
        ("QueueStore.SQL.tasks", QueueStore.SQL.tasks),
    ]

    static let runHistory = [
        ("RunStore.SQL.behind", RunStore.SQL.behind),
        ("RunStore.SQL.deleteHandlersOf", RunStore.SQL.deleteHandlersOf),
        ("RunStore.SQL.oldestThrough", RunStore.SQL.oldestThrough),
        ("RunStore.SQL.ownBehind", RunStore.SQL.ownBehind),
    ]

    static let jobLists: [(String, String)] = jobWalks + dueJobs

    private static let jobWalks = JobWalk.allCases.flatMap { walk in
        var lists = [true, false].map { hasUserInfo in
            (
                "Queries.SQL.jobs(\(walk), \(hasUserInfo))",
                Queries.SQL.jobs(walk, hasUserInfo: hasUserInfo)
            )
        }
        lists.append(("Queries.SQL.jobSizes(\(walk))", Queries.SQL.jobSizes(walk)))
        if !walk.isShort {
            lists.append(("Queries.SQL.jobAfterSome(\(walk))", Queries.SQL.jobAfterSome(walk)))
        }
        return lists
    }

    private static let dueJobs = [true, false].flatMap { hasOwner in
        var lists: [(String, String)] = []
        let claimed = Queries.SQL.claimed(hasIndexOfOwner: hasOwner)
        lists.append(("Queries.SQL.claimed(\(hasOwner))", claimed))
        for isFiltered in [true, false] {
            for part in Queries.DuePart.allCases {
                let sql = Queries.SQL.waiting(part, hasOwner: hasOwner, isFiltered: isFiltered)
                lists.append(("Queries.SQL.waiting(\(part), \(hasOwner), \(isFiltered))", sql))
            }
        }
        for few in Queries.FewJobs.allCases {
            let sql = Queries.SQL.dueJobs(few, hasOwner: hasOwner)
            lists.append(("Queries.SQL.dueJobs(\(few), \(hasOwner))", sql))
        }
        return lists
    }
    static let runLists = RunOrder.allCases.flatMap { order in
        RunOrder.Part.allCases.map { part in
            ("Queries.SQL.runs(\(order), \(part))", Queries.SQL.runs(order, part))
        }
    }

    static let daemonState = [
        ("DaemonState.SQL.markCopied", DaemonState.SQL.markCopied),
        ("DaemonState.SQL.read", DaemonState.SQL.read),
        ("DaemonState.SQL.skipNumbers", DaemonState.SQL.skipNumbers),
        ("DaemonState.SQL.skipRuns", DaemonState.SQL.skipRuns),
        ("DaemonState.SQL.writeAnchor", DaemonState.SQL.writeAnchor),
        ("DaemonState.SQL.writeMoment", DaemonState.SQL.writeMoment),
        ("DaemonState.SQL.writeSequenceEnd", DaemonState.SQL.writeSequenceEnd),
    ]

    static let datesAhead = [
        ("FireStore.SQL.droppedAhead", FireStore.SQL.droppedAhead),
        ("FireStore.SQL.takenAhead", FireStore.SQL.takenAhead),
    ]

    static let calendars = [true, false].flatMap { hasOwner in
        [
            (
                "Queries.SQL.firesToCount(\(hasOwner))",
                Queries.SQL.firesToCount(hasIndexOfOwner: hasOwner)
            ),
            (
                "Queries.SQL.rangesOver(\(hasOwner))",
                Queries.SQL.rangesOver(hasOwner: hasOwner)
            ),
        ]
    }

    static let zoneRuleStore = [
        ("ZoneRuleStore.SQL.all", ZoneRuleStore.SQL.all),
        ("ZoneRuleStore.SQL.deleteUnused", ZoneRuleStore.SQL.deleteUnused),
        ("ZoneRuleStore.SQL.insert", ZoneRuleStore.SQL.insert),
        ("ZoneRuleStore.SQL.jobs", ZoneRuleStore.SQL.jobs),
        ("ZoneRuleStore.SQL.names", ZoneRuleStore.SQL.names),
        ("ZoneRuleStore.SQL.setOfJob", ZoneRuleStore.SQL.setOfJob),
    ]
}
