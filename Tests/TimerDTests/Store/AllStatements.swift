// SPDX-License-Identifier: Apache-2.0

@testable import TimerD

/// Every statement of the program, by the name that it has in the source; `AllQueryPlansTests` finds one that
/// is missing.
enum AllStatements {
    static let byName: [String: String] = Dictionary(
        uniqueKeysWithValues: [
            daemonState, eventLog, eventWords, fireStore, jobStore, noticeStore,
            outbox, owners,
            queries, queueStore,
            runStore, taskStore, uploadStore, zoneRuleStore, jobLists, runLists, calendars,
        ].flatMap(\.self)
    )

    /// What functions make, for each of their cases.
    static let jobLists: [(String, String)] = jobWalks + dueJobs

    private static let jobWalks = JobWalk.allCases.flatMap { walk in
        var lists = [true, false].map { hasUserInfo in
            (
                "Queries.SQL.jobs(\(walk), \(hasUserInfo))",
                Queries.SQL.jobs(walk, hasUserInfo: hasUserInfo)
            )
        }
        if !walk.isShort {
            lists.append(("Queries.SQL.jobAfterSome(\(walk))", Queries.SQL.jobAfterSome(walk)))
        }
        return lists
    }

    private static let dueJobs = [true, false].flatMap { hasOwner in
        var lists: [(String, String)] = []
        for isFiltered in [true, false] {
            let claimed = Queries.SQL.claimed(hasIndexOfOwner: hasOwner, isFiltered: isFiltered)
            lists.append(("Queries.SQL.claimed(\(hasOwner), \(isFiltered))", claimed))
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
    private static let runLists = RunOrder.allCases.flatMap { order in
        RunOrder.Part.allCases.map { part in
            ("Queries.SQL.runs(\(order), \(part))", Queries.SQL.runs(order, part))
        }
    }

    private static let calendars =
        [true, false].map { hasOwner in
            (
                "Queries.SQL.firesToCount(\(hasOwner))",
                Queries.SQL.firesToCount(hasOwner: hasOwner)
            )
        }
        + [
            ("Queries.SQL.rangesOver", Queries.SQL.rangesOver)
        ]

    private static let daemonState = [
        ("DaemonState.SQL.read", DaemonState.SQL.read),
        ("DaemonState.SQL.skipNumbers", DaemonState.SQL.skipNumbers),
        ("DaemonState.SQL.skipRuns", DaemonState.SQL.skipRuns),
        ("DaemonState.SQL.writeAnchor", DaemonState.SQL.writeAnchor),
        ("DaemonState.SQL.writeMoment", DaemonState.SQL.writeMoment),
        ("DaemonState.SQL.writeSequenceEnd", DaemonState.SQL.writeSequenceEnd),
    ]

    private static let noticeStore = [
        ("NoticeStore.SQL.all", NoticeStore.SQL.all),
        ("NoticeStore.SQL.count", NoticeStore.SQL.count),
        ("NoticeStore.SQL.counts", NoticeStore.SQL.counts),
        ("NoticeStore.SQL.delete", NoticeStore.SQL.delete),
        ("NoticeStore.SQL.deletePing", NoticeStore.SQL.deletePing),
        ("NoticeStore.SQL.drop", NoticeStore.SQL.drop),
        ("NoticeStore.SQL.dropped", NoticeStore.SQL.dropped),
        ("NoticeStore.SQL.due", NoticeStore.SQL.due),
        ("NoticeStore.SQL.hold", NoticeStore.SQL.hold),
        ("NoticeStore.SQL.insert", NoticeStore.SQL.insert),
        ("NoticeStore.SQL.isFailing", NoticeStore.SQL.isFailing),
        ("NoticeStore.SQL.markFailed", NoticeStore.SQL.markFailed),
        ("NoticeStore.SQL.markTried", NoticeStore.SQL.markTried),
        ("NoticeStore.SQL.next", NoticeStore.SQL.next),
        ("NoticeStore.SQL.ofOwner", NoticeStore.SQL.ofOwner),
        ("NoticeStore.SQL.oldest", NoticeStore.SQL.oldest),
        ("NoticeStore.SQL.owner", NoticeStore.SQL.owner),
        ("NoticeStore.SQL.setFailing", NoticeStore.SQL.setFailing),
        ("NoticeStore.SQL.setToldAt", NoticeStore.SQL.setToldAt),
        ("NoticeStore.SQL.standingOfOwner", NoticeStore.SQL.standingOfOwner),
        ("NoticeStore.SQL.toldAt", NoticeStore.SQL.toldAt),
    ]

    private static let eventLog = [
        ("EventLog.SQL.after", EventLog.SQL.after),
        ("EventLog.SQL.afterOfOwner", EventLog.SQL.afterOfOwner),
        ("EventLog.SQL.counts", EventLog.SQL.counts),
        ("EventLog.SQL.delete", EventLog.SQL.delete),
        ("EventLog.SQL.deleteOfOwner", EventLog.SQL.deleteOfOwner),
        ("EventLog.SQL.insert", EventLog.SQL.insert),
        ("EventLog.SQL.notePruned", EventLog.SQL.notePruned),
        ("EventLog.SQL.notePrunedOfOwner", EventLog.SQL.notePrunedOfOwner),
        ("EventLog.SQL.oldest", EventLog.SQL.oldest),
        ("EventLog.SQL.oldestOfOwner", EventLog.SQL.oldestOfOwner),
        ("EventLog.SQL.prunedThrough", EventLog.SQL.prunedThrough),
        ("EventLog.SQL.prunedThroughOfOwner", EventLog.SQL.prunedThroughOfOwner),
    ]

    private static let uploadStore = [
        ("UploadStore.SQL.delete", UploadStore.SQL.delete),
        ("UploadStore.SQL.deletePart", UploadStore.SQL.deletePart),
        ("UploadStore.SQL.insert", UploadStore.SQL.insert),
        ("UploadStore.SQL.oldest", UploadStore.SQL.oldest),
        ("UploadStore.SQL.parts", UploadStore.SQL.parts),
        ("UploadStore.SQL.request", UploadStore.SQL.request),
    ]

    private static let eventWords = [
        ("EventWords.SQL.insert", EventWords.SQL.insert),
        ("EventWords.SQL.job", EventWords.SQL.job),
        ("EventWords.SQL.unchanged", EventWords.SQL.unchanged),
        ("EventWords.SQL.noteLast", EventWords.SQL.noteLast),
        ("EventWords.SQL.oldest", EventWords.SQL.oldest),
        ("EventWords.SQL.removeOldest", EventWords.SQL.removeOldest),
        ("EventWords.SQL.removeUntold", EventWords.SQL.removeUntold),
        ("EventWords.SQL.revision", EventWords.SQL.revision),
    ]

    private static let fireStore = [
        ("FireStore.SQL.becomeRange", FireStore.SQL.becomeRange),
        ("FireStore.SQL.begun", FireStore.SQL.begun),
        ("FireStore.SQL.claimAt", FireStore.SQL.claimAt),
        ("FireStore.SQL.claimsAfter", FireStore.SQL.claimsAfter),
        ("FireStore.SQL.close", FireStore.SQL.close),
        ("FireStore.SQL.dateBehind", FireStore.SQL.dateBehind),
        ("FireStore.SQL.delete", FireStore.SQL.delete),
        ("FireStore.SQL.deleteClaim", FireStore.SQL.deleteClaim),
        ("FireStore.SQL.deleteClaims", FireStore.SQL.deleteClaims),
        ("FireStore.SQL.deleteOfJob", FireStore.SQL.deleteOfJob),
        ("FireStore.SQL.deletePaused", FireStore.SQL.deletePaused),
        ("FireStore.SQL.firedSince", FireStore.SQL.firedSince),
        ("FireStore.SQL.inProgress", FireStore.SQL.inProgress),
        ("FireStore.SQL.insertByHand", FireStore.SQL.insertByHand),
        ("FireStore.SQL.insertClaim", FireStore.SQL.insertClaim),
        ("FireStore.SQL.insertSkipped", FireStore.SQL.insertSkipped),
        ("FireStore.SQL.job", FireStore.SQL.job),
        ("FireStore.SQL.jobsAhead", FireStore.SQL.jobsAhead),
        ("FireStore.SQL.keepMaybeTold", FireStore.SQL.keepMaybeTold),
        ("FireStore.SQL.left", FireStore.SQL.left),
        ("FireStore.SQL.markBegun", FireStore.SQL.markBegun),
        ("FireStore.SQL.markClaimed", FireStore.SQL.markClaimed),
        ("FireStore.SQL.markDone", FireStore.SQL.markDone),
        ("FireStore.SQL.markFired", FireStore.SQL.markFired),
        ("FireStore.SQL.markMaybeTold", FireStore.SQL.markMaybeTold),
        ("FireStore.SQL.markQueued", FireStore.SQL.markQueued),
        ("FireStore.SQL.markRunning", FireStore.SQL.markRunning),
        ("FireStore.SQL.markSkipped", FireStore.SQL.markSkipped),
        ("FireStore.SQL.markTask", FireStore.SQL.markTask),
        ("FireStore.SQL.markWaiting", FireStore.SQL.markWaiting),
        ("FireStore.SQL.movedAround", FireStore.SQL.movedAround),
        ("FireStore.SQL.oldest", FireStore.SQL.oldest),
        ("FireStore.SQL.oldestOfJob", FireStore.SQL.oldestOfJob),
        ("FireStore.SQL.open", FireStore.SQL.open),
        ("FireStore.SQL.openOfJob", FireStore.SQL.openOfJob),
        ("FireStore.SQL.restoreClaim", FireStore.SQL.restoreClaim),
        ("FireStore.SQL.rows", FireStore.SQL.rows),
        ("FireStore.SQL.rowsToGoOnFrom", FireStore.SQL.rowsToGoOnFrom),
        ("FireStore.SQL.setFiredAt", FireStore.SQL.setFiredAt),
        ("FireStore.SQL.setRange", FireStore.SQL.setRange),
        ("FireStore.SQL.shiftDatesAway", FireStore.SQL.shiftDatesAway),
        ("FireStore.SQL.shiftDatesBack", FireStore.SQL.shiftDatesBack),
        ("FireStore.SQL.shorten", FireStore.SQL.shorten),
        ("FireStore.SQL.skippedAhead", FireStore.SQL.skippedAhead),
        ("FireStore.SQL.skippedBeyond", FireStore.SQL.skippedBeyond),
        ("FireStore.SQL.state", FireStore.SQL.state),
        ("FireStore.SQL.takenAround", FireStore.SQL.takenAround),
        ("FireStore.SQL.takenBetween", FireStore.SQL.takenBetween),
        ("FireStore.SQL.usedAt", FireStore.SQL.usedAt),
        ("FireStore.SQL.waiting", FireStore.SQL.waiting),
        ("FireStore.SQL.wallDate", FireStore.SQL.wallDate),
    ]

    private static let jobStore = [
        ("JobStore.SQL.addedBefore", JobStore.SQL.addedBefore),
        ("JobStore.SQL.bootIDs", JobStore.SQL.bootIDs),
        ("JobStore.SQL.byID", JobStore.SQL.byID),
        ("JobStore.SQL.byIDAndOwner", JobStore.SQL.byIDAndOwner),
        ("JobStore.SQL.count", JobStore.SQL.count),
        ("JobStore.SQL.countFire", JobStore.SQL.countFire),
        ("JobStore.SQL.countHeld", JobStore.SQL.countHeld),
        ("JobStore.SQL.definition", JobStore.SQL.definition),
        ("JobStore.SQL.delete", JobStore.SQL.delete),
        ("JobStore.SQL.deleteBoot", JobStore.SQL.deleteBoot),
        ("JobStore.SQL.deleteName", JobStore.SQL.deleteName),
        ("JobStore.SQL.deleteTag", JobStore.SQL.deleteTag),
        ("JobStore.SQL.deleteTags", JobStore.SQL.deleteTags),
        ("JobStore.SQL.deleteTarget", JobStore.SQL.deleteTarget),
        ("JobStore.SQL.due", JobStore.SQL.due),
        ("JobStore.SQL.dueOfOwner", JobStore.SQL.dueOfOwner),
        ("JobStore.SQL.firstEnd", JobStore.SQL.firstEnd),
        ("JobStore.SQL.hasTag", JobStore.SQL.hasTag),
        ("JobStore.SQL.held", JobStore.SQL.held),
        ("JobStore.SQL.heldCount", JobStore.SQL.heldCount),
        ("JobStore.SQL.idByName", JobStore.SQL.idByName),
        ("JobStore.SQL.idOfKey", JobStore.SQL.idOfKey),
        ("JobStore.SQL.insert", JobStore.SQL.insert),
        ("JobStore.SQL.insertBoot", JobStore.SQL.insertBoot),
        ("JobStore.SQL.insertDefinition", JobStore.SQL.insertDefinition),
        ("JobStore.SQL.insertName", JobStore.SQL.insertName),
        ("JobStore.SQL.insertTag", JobStore.SQL.insertTag),
        ("JobStore.SQL.forgetEnd", JobStore.SQL.forgetEnd),
        ("JobStore.SQL.keepForUndo", JobStore.SQL.keepForUndo),
        ("JobStore.SQL.keepKey", JobStore.SQL.keepKey),
        ("JobStore.SQL.standingBeforeEnd", JobStore.SQL.standingBeforeEnd),
        ("Queries.SQL.ended", Queries.SQL.ended),
        ("Queries.SQL.endedAt", Queries.SQL.endedAt),
        ("Queries.SQL.endedOfOwner", Queries.SQL.endedOfOwner),
        ("JobStore.SQL.insertTarget", JobStore.SQL.insertTarget),
        ("JobStore.SQL.isInvalidated", JobStore.SQL.isInvalidated),
        ("JobStore.SQL.liveIDsByTag", JobStore.SQL.liveIDsByTag),
        ("JobStore.SQL.liveIDsOfOwner", JobStore.SQL.liveIDsOfOwner),
        ("JobStore.SQL.newestIDByName", JobStore.SQL.newestIDByName),
        ("JobStore.SQL.nextDue", JobStore.SQL.nextDue),
        ("JobStore.SQL.nextDueOfOwner", JobStore.SQL.nextDueOfOwner),
        ("JobStore.SQL.oldestEnded", JobStore.SQL.oldestEnded),
        ("JobStore.SQL.oldestEndedOfOwner", JobStore.SQL.oldestEndedOfOwner),
        ("JobStore.SQL.releaseClaims", JobStore.SQL.releaseClaims),
        ("JobStore.SQL.releaseName", JobStore.SQL.releaseName),
        ("JobStore.SQL.setHeld", JobStore.SQL.setHeld),
        ("JobStore.SQL.scheduledOfOwner", JobStore.SQL.scheduledOfOwner),
        ("JobStore.SQL.setMaintenance", JobStore.SQL.setMaintenance),
        ("JobStore.SQL.inMaintenance", JobStore.SQL.inMaintenance),
        ("JobStore.SQL.standing", JobStore.SQL.standing),
        ("JobStore.SQL.targets", JobStore.SQL.targets),
        ("JobStore.SQL.unheldOfOwner", JobStore.SQL.unheldOfOwner),
        ("JobStore.SQL.update", JobStore.SQL.update),
        ("JobStore.SQL.updateDefinition", JobStore.SQL.updateDefinition),
        ("JobStore.SQL.updateSchedule", JobStore.SQL.updateSchedule),
        ("JobStore.SQL.userInfo", JobStore.SQL.userInfo),
        ("JobStore.SQL.waitingOwner", JobStore.SQL.waitingOwner),
        ("JobStore.SQL.withoutUserInfo", JobStore.SQL.withoutUserInfo),
        ("JobStore.SQL.withoutUserInfoByOwner", JobStore.SQL.withoutUserInfoByOwner),
    ]

    private static let outbox = [
        ("Outbox.SQL.all", Outbox.SQL.all),
        ("Outbox.SQL.counts", Outbox.SQL.counts),
        ("Outbox.SQL.delete", Outbox.SQL.delete),
        ("Outbox.SQL.insert", Outbox.SQL.insert),
        ("Outbox.SQL.setTold", Outbox.SQL.setTold),
        ("Outbox.SQL.words", Outbox.SQL.words),
    ]

    private static let owners = [
        ("Owners.SQL.all", Owners.SQL.all),
        ("Owners.SQL.move", Owners.SQL.move),
        ("Owners.SQL.bytes", Owners.SQL.bytes),
        ("Owners.SQL.inMaintenance", Owners.SQL.inMaintenance),
        ("Owners.SQL.maintenance", Owners.SQL.maintenance),
        ("Owners.SQL.setMaintenance", Owners.SQL.setMaintenance),
        ("Owners.SQL.count", Owners.SQL.count),
        ("Owners.SQL.full", Owners.SQL.full),
        ("Owners.SQL.held", Owners.SQL.held),
        ("Owners.SQL.hold", Owners.SQL.hold),
        ("Owners.SQL.id", Owners.SQL.id),
        ("Owners.SQL.insert", Owners.SQL.insert),
        ("Owners.SQL.liveJobs", Owners.SQL.liveJobs),
        ("Owners.SQL.meant", Owners.SQL.meant),
        ("Owners.SQL.others", Owners.SQL.others),
        ("Owners.SQL.rename", Owners.SQL.rename),
    ]

    private static let queries = [
        ("Queries.SQL.isTagged", Queries.SQL.isTagged),
        ("Queries.SQL.lastRun", Queries.SQL.lastRun),
        ("Queries.SQL.liveJobs", Queries.SQL.liveJobs),
        ("Queries.SQL.outputParts", Queries.SQL.outputParts),
        ("Queries.SQL.outputTotals", Queries.SQL.outputTotals),
        ("Queries.SQL.run", Queries.SQL.run),
        ("Queries.SQL.runOfOwner", Queries.SQL.runOfOwner),
        ("Queries.SQL.someTagged", Queries.SQL.someTagged),
        ("Queries.SQL.someTaggedOfOwner", Queries.SQL.someTaggedOfOwner),
    ]

    private static let runStore = [
        ("RunStore.SQL.attempts", RunStore.SQL.attempts),
        ("RunStore.SQL.deleteOfFire", RunStore.SQL.deleteOfFire),
        ("RunStore.SQL.deleteOldestOutput", RunStore.SQL.deleteOldestOutput),
        ("RunStore.SQL.deleteOpen", RunStore.SQL.deleteOpen),
        ("RunStore.SQL.deleteSomeOfFire", RunStore.SQL.deleteSomeOfFire),
        ("RunStore.SQL.deleteSomeOfJob", RunStore.SQL.deleteSomeOfJob),
        ("RunStore.SQL.inProgressOfFire", RunStore.SQL.inProgressOfFire),
        ("RunStore.SQL.insert", RunStore.SQL.insert),
        ("RunStore.SQL.insertOutput", RunStore.SQL.insertOutput),
        ("RunStore.SQL.insertStarted", RunStore.SQL.insertStarted),
        ("RunStore.SQL.interruptOfJob", RunStore.SQL.interruptOfJob),
        ("RunStore.SQL.isOpen", RunStore.SQL.isOpen),
        ("RunStore.SQL.last", RunStore.SQL.last),
        ("RunStore.SQL.markFinished", RunStore.SQL.markFinished),
        ("RunStore.SQL.forgetRunners", RunStore.SQL.forgetRunners),
        ("RunStore.SQL.markStarted", RunStore.SQL.markStarted),
        ("RunStore.SQL.markSurvivors", RunStore.SQL.markSurvivors),
        ("RunStore.SQL.openOfFire", RunStore.SQL.openOfFire),
        ("RunStore.SQL.trim", RunStore.SQL.trim),
    ]

    private static let taskStore = [
        ("TaskStore.SQL.addQueue", TaskStore.SQL.addQueue),
        ("TaskStore.SQL.delete", TaskStore.SQL.delete),
        ("TaskStore.SQL.due", TaskStore.SQL.due),
        ("TaskStore.SQL.endedByName", TaskStore.SQL.endedByName),
        ("TaskStore.SQL.endedByTag", TaskStore.SQL.endedByTag),
        ("TaskStore.SQL.endedOfOwner", TaskStore.SQL.endedOfOwner),
        ("TaskStore.SQL.extend", TaskStore.SQL.extend),
        ("TaskStore.SQL.insert", TaskStore.SQL.insert),
        ("TaskStore.SQL.isBusy", TaskStore.SQL.isBusy),
        ("TaskStore.SQL.list", TaskStore.SQL.list),
        ("TaskStore.SQL.listOfOwner", TaskStore.SQL.listOfOwner),
        ("TaskStore.SQL.markReserved", TaskStore.SQL.markReserved),
        ("TaskStore.SQL.nextDue", TaskStore.SQL.nextDue),
        ("TaskStore.SQL.ofJob", TaskStore.SQL.ofJob),
        ("TaskStore.SQL.ready", TaskStore.SQL.ready),
        ("TaskStore.SQL.readyRows", TaskStore.SQL.readyRows),
        ("TaskStore.SQL.renewLeases", TaskStore.SQL.renewLeases),
        ("TaskStore.SQL.rest", TaskStore.SQL.rest),
        ("TaskStore.SQL.resting", TaskStore.SQL.resting),
        ("TaskStore.SQL.task", TaskStore.SQL.task),
    ]

    private static let queueStore = [
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

    private static let zoneRuleStore = [
        ("ZoneRuleStore.SQL.all", ZoneRuleStore.SQL.all),
        ("ZoneRuleStore.SQL.deleteUnused", ZoneRuleStore.SQL.deleteUnused),
        ("ZoneRuleStore.SQL.insert", ZoneRuleStore.SQL.insert),
        ("ZoneRuleStore.SQL.jobs", ZoneRuleStore.SQL.jobs),
        ("ZoneRuleStore.SQL.names", ZoneRuleStore.SQL.names),
        ("ZoneRuleStore.SQL.setOfJob", ZoneRuleStore.SQL.setOfJob),
    ]
}
