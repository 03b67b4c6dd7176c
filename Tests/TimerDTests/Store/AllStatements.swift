// SPDX-License-Identifier: Apache-2.0

@testable import TimerD

/// Every statement of the program, by the name that it has in the source; `QueryPlanTests` finds one that
/// is missing.
enum AllStatements {
    static let byName: [String: String] = Dictionary(
        uniqueKeysWithValues: [
            daemonState, eventLog, jobWriter, owners, pruner, queries, dueJobs, knownZoneRules,
        ].flatMap(\.self)
    )

    /// What a function makes, for each of its cases.
    private static let dueJobs = [true, false].flatMap { hasOwner in
        [true, false].map { hasTag in
            (
                "Queries.SQL.dueJobs(\(hasOwner), \(hasTag))",
                Queries.SQL.dueJobs(hasOwner: hasOwner, hasTag: hasTag)
            )
        }
    }

    private static let daemonState = [
        ("DaemonState.SQL.read", DaemonState.SQL.read),
        ("DaemonState.SQL.skipEvents", DaemonState.SQL.skipEvents),
        ("DaemonState.SQL.skipJobs", DaemonState.SQL.skipJobs),
        ("DaemonState.SQL.skipNumbers", DaemonState.SQL.skipNumbers),
        ("DaemonState.SQL.writeAnchor", DaemonState.SQL.writeAnchor),
        ("DaemonState.SQL.writeMoment", DaemonState.SQL.writeMoment),
        ("DaemonState.SQL.writeSequenceEnd", DaemonState.SQL.writeSequenceEnd),
    ]

    private static let eventLog = [
        ("EventLog.SQL.after", EventLog.SQL.after),
        ("EventLog.SQL.afterOfOwner", EventLog.SQL.afterOfOwner),
        ("EventLog.SQL.deleteNotice", EventLog.SQL.deleteNotice),
        ("EventLog.SQL.insert", EventLog.SQL.insert),
        ("EventLog.SQL.outbox", EventLog.SQL.outbox),
        ("EventLog.SQL.prunedThrough", EventLog.SQL.prunedThrough),
        ("EventLog.SQL.prunedThroughOfOwner", EventLog.SQL.prunedThroughOfOwner),
    ]

    private static let jobWriter = [
        ("JobWriter.SQL.attempts", JobWriter.SQL.attempts),
        ("JobWriter.SQL.becomeRange", JobWriter.SQL.becomeRange),
        ("JobWriter.SQL.bootJobs", JobWriter.SQL.bootJobs),
        ("JobWriter.SQL.claimLeft", JobWriter.SQL.claimLeft),
        ("JobWriter.SQL.claimsAhead", JobWriter.SQL.claimsAhead),
        ("JobWriter.SQL.closeFires", JobWriter.SQL.closeFires),
        ("JobWriter.SQL.countFire", JobWriter.SQL.countFire),
        ("JobWriter.SQL.countHeld", JobWriter.SQL.countHeld),
        ("JobWriter.SQL.countJobs", JobWriter.SQL.countJobs),
        ("JobWriter.SQL.definition", JobWriter.SQL.definition),
        ("JobWriter.SQL.deleteClaim", JobWriter.SQL.deleteClaim),
        ("JobWriter.SQL.deleteClaims", JobWriter.SQL.deleteClaims),
        ("JobWriter.SQL.deleteFire", JobWriter.SQL.deleteFire),
        ("JobWriter.SQL.deleteFiresOfJob", JobWriter.SQL.deleteFiresOfJob),
        ("JobWriter.SQL.deleteJob", JobWriter.SQL.deleteJob),
        ("JobWriter.SQL.deleteName", JobWriter.SQL.deleteName),
        ("JobWriter.SQL.deleteOpenRun", JobWriter.SQL.deleteOpenRun),
        ("JobWriter.SQL.deleteRunOfFire", JobWriter.SQL.deleteRunOfFire),
        ("JobWriter.SQL.deleteRunsOfFire", JobWriter.SQL.deleteRunsOfFire),
        ("JobWriter.SQL.deleteRunsOfJob", JobWriter.SQL.deleteRunsOfJob),
        ("JobWriter.SQL.deleteTag", JobWriter.SQL.deleteTag),
        ("JobWriter.SQL.deleteTags", JobWriter.SQL.deleteTags),
        ("JobWriter.SQL.deleteTarget", JobWriter.SQL.deleteTarget),
        ("JobWriter.SQL.deleteUnusedZoneRules", JobWriter.SQL.deleteUnusedZoneRules),
        ("JobWriter.SQL.doubt", JobWriter.SQL.doubt),
        ("JobWriter.SQL.droppableFires", JobWriter.SQL.droppableFires),
        ("JobWriter.SQL.fireAtDate", JobWriter.SQL.fireAtDate),
        ("JobWriter.SQL.fireState", JobWriter.SQL.fireState),
        ("JobWriter.SQL.firedSince", JobWriter.SQL.firedSince),
        ("JobWriter.SQL.firesInProgress", JobWriter.SQL.firesInProgress),
        ("JobWriter.SQL.forgetRuns", JobWriter.SQL.forgetRuns),
        ("JobWriter.SQL.held", JobWriter.SQL.held),
        ("JobWriter.SQL.heldCount", JobWriter.SQL.heldCount),
        ("JobWriter.SQL.insertBootJob", JobWriter.SQL.insertBootJob),
        ("JobWriter.SQL.insertClaim", JobWriter.SQL.insertClaim),
        ("JobWriter.SQL.insertDefinition", JobWriter.SQL.insertDefinition),
        ("JobWriter.SQL.insertJob", JobWriter.SQL.insertJob),
        ("JobWriter.SQL.insertManual", JobWriter.SQL.insertManual),
        ("JobWriter.SQL.insertName", JobWriter.SQL.insertName),
        ("JobWriter.SQL.insertNotice", JobWriter.SQL.insertNotice),
        ("JobWriter.SQL.insertOutput", JobWriter.SQL.insertOutput),
        ("JobWriter.SQL.insertRun", JobWriter.SQL.insertRun),
        ("JobWriter.SQL.insertSkipped", JobWriter.SQL.insertSkipped),
        ("JobWriter.SQL.insertTag", JobWriter.SQL.insertTag),
        ("JobWriter.SQL.insertTarget", JobWriter.SQL.insertTarget),
        ("JobWriter.SQL.insertTold", JobWriter.SQL.insertTold),
        ("JobWriter.SQL.insertWaitingRun", JobWriter.SQL.insertWaitingRun),
        ("JobWriter.SQL.insertZoneRules", JobWriter.SQL.insertZoneRules),
        ("JobWriter.SQL.interruptRuns", JobWriter.SQL.interruptRuns),
        ("JobWriter.SQL.isInvalidated", JobWriter.SQL.isInvalidated),
        ("JobWriter.SQL.jobBefore", JobWriter.SQL.jobBefore),
        ("JobWriter.SQL.jobByID", JobWriter.SQL.jobByID),
        ("JobWriter.SQL.jobIDByName", JobWriter.SQL.jobIDByName),
        ("JobWriter.SQL.jobOfFire", JobWriter.SQL.jobOfFire),
        ("JobWriter.SQL.jobOfOwner", JobWriter.SQL.jobOfOwner),
        ("JobWriter.SQL.jobToChange", JobWriter.SQL.jobToChange),
        ("JobWriter.SQL.jobToChangeOfOwner", JobWriter.SQL.jobToChangeOfOwner),
        ("JobWriter.SQL.jobsAhead", JobWriter.SQL.jobsAhead),
        ("JobWriter.SQL.jobsByZoneRules", JobWriter.SQL.jobsByZoneRules),
        ("JobWriter.SQL.keepTold", JobWriter.SQL.keepTold),
        ("JobWriter.SQL.lastRun", JobWriter.SQL.lastRun),
        ("JobWriter.SQL.leftFire", JobWriter.SQL.leftFire),
        ("JobWriter.SQL.leftOutAhead", JobWriter.SQL.leftOutAhead),
        ("JobWriter.SQL.liveJobIDsByTag", JobWriter.SQL.liveJobIDsByTag),
        ("JobWriter.SQL.liveJobIDsOfOwner", JobWriter.SQL.liveJobIDsOfOwner),
        ("JobWriter.SQL.markBegun", JobWriter.SQL.markBegun),
        ("JobWriter.SQL.markDone", JobWriter.SQL.markDone),
        ("JobWriter.SQL.markFinished", JobWriter.SQL.markFinished),
        ("JobWriter.SQL.markFired", JobWriter.SQL.markFired),
        ("JobWriter.SQL.markFiredBefore", JobWriter.SQL.markFiredBefore),
        ("JobWriter.SQL.markRunning", JobWriter.SQL.markRunning),
        ("JobWriter.SQL.markSkipped", JobWriter.SQL.markSkipped),
        ("JobWriter.SQL.markStarted", JobWriter.SQL.markStarted),
        ("JobWriter.SQL.markSurvivors", JobWriter.SQL.markSurvivors),
        ("JobWriter.SQL.markWaiting", JobWriter.SQL.markWaiting),
        ("JobWriter.SQL.movedAround", JobWriter.SQL.movedAround),
        ("JobWriter.SQL.nextWaiting", JobWriter.SQL.nextWaiting),
        ("JobWriter.SQL.nextWaitingOfOwner", JobWriter.SQL.nextWaitingOfOwner),
        ("JobWriter.SQL.nextWaitingOwner", JobWriter.SQL.nextWaitingOwner),
        ("JobWriter.SQL.oldestEndedOfOwner", JobWriter.SQL.oldestEndedOfOwner),
        ("JobWriter.SQL.oldestKept", JobWriter.SQL.oldestKept),
        ("JobWriter.SQL.oldestRows", JobWriter.SQL.oldestRows),
        ("JobWriter.SQL.openFireOfJob", JobWriter.SQL.openFireOfJob),
        ("JobWriter.SQL.openFires", JobWriter.SQL.openFires),
        ("JobWriter.SQL.openRunOfFire", JobWriter.SQL.openRunOfFire),
        ("JobWriter.SQL.releaseJobs", JobWriter.SQL.releaseJobs),
        ("JobWriter.SQL.rowsOfFire", JobWriter.SQL.rowsOfFire),
        ("JobWriter.SQL.rowsToGoOnFrom", JobWriter.SQL.rowsToGoOnFrom),
        ("JobWriter.SQL.runsInProgress", JobWriter.SQL.runsInProgress),
        ("JobWriter.SQL.setHeld", JobWriter.SQL.setHeld),
        ("JobWriter.SQL.setRange", JobWriter.SQL.setRange),
        ("JobWriter.SQL.setZoneRules", JobWriter.SQL.setZoneRules),
        ("JobWriter.SQL.shorten", JobWriter.SQL.shorten),
        ("JobWriter.SQL.takenAround", JobWriter.SQL.takenAround),
        ("JobWriter.SQL.takenBetween", JobWriter.SQL.takenBetween),
        ("JobWriter.SQL.targets", JobWriter.SQL.targets),
        ("JobWriter.SQL.unheldOfOwner", JobWriter.SQL.unheldOfOwner),
        ("JobWriter.SQL.unprepare", JobWriter.SQL.unprepare),
        ("JobWriter.SQL.updateDefinition", JobWriter.SQL.updateDefinition),
        ("JobWriter.SQL.updateJob", JobWriter.SQL.updateJob),
        ("JobWriter.SQL.userInfo", JobWriter.SQL.userInfo),
        ("JobWriter.SQL.waitingFire", JobWriter.SQL.waitingFire),
        ("JobWriter.SQL.waitingJobs", JobWriter.SQL.waitingJobs),
        ("JobWriter.SQL.waitingJobsOfOwner", JobWriter.SQL.waitingJobsOfOwner),
        ("JobWriter.SQL.whereItStands", JobWriter.SQL.whereItStands),
        ("JobWriter.SQL.zoneRules", JobWriter.SQL.zoneRules),
    ]

    private static let owners = [
        ("Owners.SQL.bytes", Owners.SQL.bytes),
        ("Owners.SQL.count", Owners.SQL.count),
        ("Owners.SQL.hold", Owners.SQL.hold),
        ("Owners.SQL.id", Owners.SQL.id),
        ("Owners.SQL.insert", Owners.SQL.insert),
        ("Owners.SQL.liveJobs", Owners.SQL.liveJobs),
        ("Owners.SQL.meant", Owners.SQL.meant),
        ("Owners.SQL.others", Owners.SQL.others),
        ("Owners.SQL.rename", Owners.SQL.rename),
    ]

    private static let pruner = [
        ("Pruner.SQL.countEvents", Pruner.SQL.countEvents),
        ("Pruner.SQL.deleteEvents", Pruner.SQL.deleteEvents),
        ("Pruner.SQL.deleteEventsOfOwner", Pruner.SQL.deleteEventsOfOwner),
        ("Pruner.SQL.deleteOutput", Pruner.SQL.deleteOutput),
        ("Pruner.SQL.fullOwners", Pruner.SQL.fullOwners),
        ("Pruner.SQL.nextEnded", Pruner.SQL.nextEnded),
        ("Pruner.SQL.noteEventsPruned", Pruner.SQL.noteEventsPruned),
        ("Pruner.SQL.noteEventsPrunedOfOwner", Pruner.SQL.noteEventsPrunedOfOwner),
        ("Pruner.SQL.oldestEnded", Pruner.SQL.oldestEnded),
        ("Pruner.SQL.oldestEvents", Pruner.SQL.oldestEvents),
        ("Pruner.SQL.oldestEventsOfOwner", Pruner.SQL.oldestEventsOfOwner),
        ("Pruner.SQL.oldestFires", Pruner.SQL.oldestFires),
    ]

    private static let queries = [
        ("Queries.SQL.claimed", Queries.SQL.claimed),
        ("Queries.SQL.heldJobs", Queries.SQL.heldJobs),
        ("Queries.SQL.idleJobs", Queries.SQL.idleJobs),
        ("Queries.SQL.jobs", Queries.SQL.jobs),
        ("Queries.SQL.jobsByTag", Queries.SQL.jobsByTag),
        ("Queries.SQL.jobsOfOwner", Queries.SQL.jobsOfOwner),
        ("Queries.SQL.jobsOfOwnerByTag", Queries.SQL.jobsOfOwnerByTag),
        ("Queries.SQL.lastRun", Queries.SQL.lastRun),
        ("Queries.SQL.liveJobs", Queries.SQL.liveJobs),
        ("Queries.SQL.openRuns", Queries.SQL.openRuns),
        ("Queries.SQL.output", Queries.SQL.output),
        ("Queries.SQL.run", Queries.SQL.run),
        ("Queries.SQL.runOfOwner", Queries.SQL.runOfOwner),
        ("Queries.SQL.runs", Queries.SQL.runs),
        ("Queries.SQL.runsOfJob", Queries.SQL.runsOfJob),
        ("Queries.SQL.runsOfOwner", Queries.SQL.runsOfOwner),
        ("Queries.SQL.waitingAfter", Queries.SQL.waitingAfter),
        ("Queries.SQL.waitingThen", Queries.SQL.waitingThen),
    ]

    private static let knownZoneRules = [
        ("KnownZoneRules.SQL.all", KnownZoneRules.SQL.all)
    ]
}
