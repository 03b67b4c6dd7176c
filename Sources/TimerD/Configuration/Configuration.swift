// SPDX-License-Identifier: Apache-2.0

import JobModel
import LinuxSystem
public import Logging
import Runner
import Schedules

/// The settings of a daemon; docs/configuration.md describes each.
public struct Configuration: Hashable, Sendable {
    /// The path of the database, of a node of several that of its copy; created, with its folder, if there is none.
    public var database: String
    /// Where the jobs are, if several hosts share them.
    public var shared: SharedJobs?
    /// What is set of a node, and has no effect while `shared` is nil.
    var unshared = UnsharedJobs()
    /// The path of the control socket.
    public var socket: String
    /// The path of the socket at which `timerd-runner` listens.
    public var runner: String
    public var logLevel = Logger.Level.info
    /// How long runs in progress may go on once the daemon has been told to stop.
    public var drainTime = Duration.seconds(10)

    /// How many commands run at once; more wait, in order.
    public var maxRuns = 64
    /// How many commands of one user run at once.
    public var maxRunsPerUser = 32
    /// How many bytes of each stream of a run are kept where its job says nothing.
    public var outputKept = 65_536
    /// How many rows of a job's history are kept, the newest.
    public var runsKept = 100
    /// How many a job may ask for.
    public var maxRunsKept = 1000
    public var historyMaxAge = Duration.seconds(365 * 86_400)
    /// How long ended jobs are kept.
    public var endedJobsMaxAge = Duration.seconds(30 * 86_400)
    /// How many bytes are stored for one user: jobs, ended ones too, and their output.
    public var maxBytesPerUser = 268_435_456
    /// How many events of each user are kept, the newest.
    public var eventsKept = 100_000
    public var eventsMaxAge = Duration.seconds(30 * 86_400)
    /// How many live jobs a user may have; root may have any number.
    public var maxJobsPerUser = 10_000
    /// How many tasks of queues a user may have that are not over.
    public var maxTasksPerUser = 100_000
    /// How many fires of one user begin in a second, in the long run; root has no such bound.
    public var maxFiresPerSecondPerUser = 1000

    /// What users' runs are held to where their jobs say nothing: `* memoryMax=1G`, `ann cpuQuota=50%`.
    public var runLimits: [String] = []
    /// Whether a daemon that runs as root opens a PAM session around each run of another user.
    public var pamSessions = true
    /// Whether what runs write goes to the daemon's standard output too.
    public var outputOnStdout = false

    /// What counts for runs of jobs that do not say it, as JSON of their options.
    public var defaults = "{}"

    /// Where notices go of jobs that do not say it; empty for nowhere.
    public var notify: [String] = []
    /// What they are told of; empty for what jobs are by themselves.
    public var notifyOn: [String] = []
    /// The path of the program that takes mails, as sendmail(8) does.
    public var mailProgram = "/usr/sbin/sendmail"
    /// The folder of what is secret and the administrator gives to runs.
    public var credentials = "/etc/timerd/credentials"

    public var maxConnections = 1000
    public var maxConnectionsPerUser = 900
    /// How many requests of one connection may be in progress.
    public var maxInFlight = 256
    /// How many requests of all connections of a user may be in progress.
    public var maxInFlightPerUser = 1024

    /// Where the metrics are served over HTTP; empty for nowhere.
    public var listen = ""

    /// Who may use the socket of a daemon that runs as root; empty for everybody.
    ///
    /// Uids, user names, and group names behind an `@`.
    public var allow: [String] = []
    /// Who may not, whatever `allow` says.
    public var deny: [String] = []

    /// What every user of this host can read though it is secret, in a sentence; nil for nothing.
    public var openSecret: String?
    /// Which variables of the environment are like a setting's and no setting's, a sentence each.
    public var misspeltVariables: [String] = []

    public init(database: String, socket: String) {
        self.database = database
        self.socket = socket
        runner = Self.runner(of: database)
    }

    /// Where the runner of a database listens, unless that is set: runs belong to the database that has
    /// their rows.
    static func runner(of database: String) -> String { database + TrustedPath.endingOfRunner }
}

extension TimeSpan {
    /// In whole µs.
    init(_ duration: Duration) {
        self.init(microseconds: Int64(duration / .microseconds(1)))
    }
}

extension RetentionLimits {
    init(_ configuration: Configuration) {
        historyMaxAge = TimeSpan(configuration.historyMaxAge)
        endedJobsMaxAge = TimeSpan(configuration.endedJobsMaxAge)
        eventsKept = configuration.eventsKept
        eventsMaxAge = TimeSpan(configuration.eventsMaxAge)
        maxBytesPerUser = Int64(configuration.maxBytesPerUser)
    }
}

extension SchedulerSettings {
    /// What `configuration` says for a daemon that runs as `account`.
    init(_ configuration: Configuration, account: Account) {
        self.init(socket: configuration.socket, account: account)
        node = configuration.shared?.node
        maxRuns = configuration.maxRuns
        // A daemon that is not root's serves one user, who may have all places.
        maxRunsPerUser = account.uid == 0 ? configuration.maxRunsPerUser : configuration.maxRuns
        outputKept = configuration.outputKept
        runsKept = configuration.runsKept
        maxRunsKept = configuration.maxRunsKept
        retention = RetentionLimits(configuration)
        // They were accepted when the configuration was read.
        runLimits = RunLimits(configuration.runLimits) ?? RunLimits()
        runDefaults = RunDefaults(json: configuration.defaults) ?? RunDefaults()
        pamSessions = configuration.pamSessions
        outputOnStdout = configuration.outputOnStdout
        // They were accepted when the configuration was read.
        notices.defaults.places = configuration.notify.compactMap(NoticePlace.init)
            .filter { $0 != .none }
        if !configuration.notifyOn.isEmpty {
            let reasons = configuration.notifyOn.compactMap(NoticeReason.init)
            notices.defaults.reasons = Set(reasons)
        }
        notices.mailProgram = configuration.mailProgram
        credentials = configuration.credentials
        maxJobsPerUser = configuration.maxJobsPerUser
        maxTasksPerUser = configuration.maxTasksPerUser
        maxFiresPerSecondPerUser = configuration.maxFiresPerSecondPerUser
    }
}

extension Configuration {
    /// The settings in which this differs from those in force, and that stay as they are until a restart.
    func changedPlaces(from old: Configuration) -> [Setting] {
        let places: Set<Setting> = [
            .database, .node, .labels, .lease, .copy, .socket, .runner, .listen,
        ]
        return old.changes(to: self).filter { places.contains($0) }
    }

    /// These settings with the places of those in force, which stay as they are until a restart.
    func keeping(placesOf old: Configuration, _ log: Logger) -> Configuration {
        for setting in changedPlaces(from: old) {
            log.warning("a changed setting needs a restart", metadata: ["setting": "\(setting)"])
        }
        warnOfContradictions(log)
        var new = self
        (new.database, new.shared, new.socket) = (old.database, old.shared, old.socket)
        new.unshared = old.unshared
        (new.runner, new.listen) = (old.runner, old.listen)
        return new
    }

    /// Why a start is refused where the service manager listens at the socket of those in force; nil where it is not.
    ///
    /// See `SocketFile.adopt`.
    func refusal(atSocketOf old: Configuration) -> SettingError? {
        guard socket != old.socket else { return nil }
        let places = "'socket' is '\(socket)', and the service manager listens at '\(old.socket)'"
        return SettingError(description: "\(places); 'ListenStream' and 'socket' have to agree")
    }

    /// Why a start with these settings is refused for a place that those in force do not have; nil where it is not.
    ///
    /// Where none has changed, what has become of them since the start keeps no other setting from being taken.
    func refusal(ofPlacesUnlike old: Configuration) -> SettingError? {
        guard (database, socket, runner) != (old.database, old.socket, old.runner) else {
            return nil
        }
        return untrustedPlace.map { SettingError(description: $0) }
    }

    /// Logs which settings are others than those that were in force, once these are.
    func tellOfReload(over old: Configuration, _ log: Logger) {
        let changed = old.changes(to: self).map(\.rawValue).joined(separator: " ")
        log.notice("reloaded", metadata: ["changed": "\(changed)"])
    }

    func warnOfContradictions(_ log: Logger) {
        for sentence in contradictions { log.warning("\(sentence)") }
        for sentence in misspeltVariables { log.warning("\(sentence)") }
        if let openSecret { log.warning("\(openSecret)") }
        if let sentence = wantOfDescriptors(of: DescriptorLimit.most) {
            log.warning("\(sentence)")
        }
    }
}
