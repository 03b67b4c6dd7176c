// SPDX-License-Identifier: Apache-2.0

import JobModel
import Platform
import Runner

/// The settings of notices.
struct NoticeSettings: Sendable {
    /// Where they go, and for what, where a job does not say it.
    var defaults = NoticePolicy.Defaults()
    /// What reads a mail from its standard input, as sendmail(8) does with -i and -t.
    var mailProgram = "/usr/sbin/sendmail"
    /// What they call this machine.
    var host = HostName.current
}

/// The settings of the scheduler.
struct SchedulerSettings: Sendable {
    /// The path of the control socket, for `TIMERD_SOCKET`.
    var socket: String
    /// The account that the daemon runs as; unless that is root's, all commands run as it.
    var account: Account
    /// What this daemon is called among others that share its jobs; nil for one alone.
    var node: String?
    /// How many commands run at once; more wait, in order.
    var maxRuns = 64
    /// How many of them may be one user's.
    var maxRunsPerUser = 64
    /// How many bytes of each stream of a run are kept where its job says nothing.
    var outputKept = RunOutput.standardLimit
    /// How many rows of a job's history are kept, the newest.
    var runsKept = 100
    /// How many a job may ask for.
    var maxRunsKept = 1000
    var retention = RetentionLimits()
    /// What users' runs are held to where their jobs say nothing.
    var runLimits = RunLimits()
    /// What counts for runs of jobs that do not say it.
    var runDefaults = RunDefaults()
    /// Whether a PAM session is opened around the runs of others than the daemon's own user.
    var pamSessions = false
    /// Whether what runs write goes to the daemon's standard output too.
    var outputOnStdout = false
    /// How many live jobs a user may have; root may have any number.
    var maxJobsPerUser = 10_000
    var maxTasksPerUser = 100_000
    /// How many fires of one user may wait for their commands to begin, beside one of each job.
    var maxWaitingPerUser = 10_000
    /// How many fires of one user begin in a second, in the long run.
    var maxFiresPerSecondPerUser = 1000

    var notices = NoticeSettings()

    /// Where what is secret lies that the administrator gives to runs.
    var credentials = "/etc/timerd/credentials"

    var secretsFolder: SecretsFolder {
        SecretsFolder(path: credentials, isOfAll: account.uid == 0)
    }

    var historyBound: HistoryBound { HistoryBound(standard: runsKept, most: maxRunsKept) }

    /// The places among the runs of one host; root keeps a reserve where there are other users.
    var places: RunQueue.Limits { places(maxRuns, on: 1) }

    /// The places of several hosts, which run `room` commands at once together.
    func places(_ room: Int, on hosts: Int) -> RunQueue.Limits {
        RunQueue.Limits(
            all: room,
            perUser: maxRunsPerUser * hosts,
            hasReserve: account.uid == 0
        )
    }

    /// How many bytes of each stream of a run are kept.
    func outputKept(of policy: RunPolicy) -> Int {
        policy.output == .drop ? 0 : policy.outputKept ?? outputKept
    }

    /// How many are kept while it is in progress: some, where they are only passed on.
    func outputRoom(of policy: RunPolicy) -> Int {
        let kept = outputKept(of: policy)
        let isPassedOn = policy.output == .journal || isOnStdout(policy)
        return kept == 0 && isPassedOn ? RunOutput.standardLimit : kept
    }

    /// Whether what a run has written is kept once it is over; `begun`: how much the runner keeps of one that a daemon before
    /// has begun, whose job may have been changed since.
    func keepsOutput(of policy: RunPolicy, begun: Int?) -> Bool {
        let kept = outputKept(of: policy)
        guard let begun else { return kept > 0 }
        // What is only passed on has some room as well: then the job as it is decides.
        let isOnlyPassedOn = kept == 0 && outputRoom(of: policy) > 0
        return begun > 0 && !isOnlyPassedOn
    }

    /// Whether what a run writes goes to the daemon's standard output.
    func isOnStdout(_ policy: RunPolicy) -> Bool { outputOnStdout && policy.output != .drop }

    /// How often a user's fires may begin.
    ///
    /// The burst is as many as a user may have jobs, which may all have the same date, or the fires of ten
    /// seconds if those are more.
    var turns: FireTurns.Limits {
        FireTurns.Limits(
            perSecond: maxFiresPerSecondPerUser,
            burst: max(10 * maxFiresPerSecondPerUser, maxJobsPerUser),
            exempt: account.uid
        )
    }
}
