// SPDX-License-Identifier: Apache-2.0

import Configuration
// `stat` belongs to CoreFoundation if any module of the program imports that, and to Glibc otherwise.
import CoreFoundation
import Glibc
import JobModel
import LinuxSystem
import Logging
import Platform
import Schedules
import SystemPackage
public import TimerControl

extension Configuration {
    /// Reads each setting from the command line, or else the environment, the file, the default.
    ///
    /// - Parameters:
    ///   - commandLine: words by the names of settings.
    ///   - environment: of it, TIMERD_CONFIG and the variables that settings have; empty ones do
    ///     not count.
    ///   - file: the path of the configuration file; if none is named, that of `paths`, if it exists.
    ///   - paths: the defaults of those who run the daemon.
    ///   - uid: whom the daemon runs as.
    /// - Returns: a configuration all of whose values are accepted ones.
    /// - Throws: `SettingError`, which names the place, the value and what is accepted.
    public static func read(
        commandLine: [String: String],
        environment: [String: String],
        file: String?,
        paths: DefaultPaths,
        uid: UInt32
    ) async throws(SettingError) -> Configuration {
        let environment = environment.filter { !$0.value.isEmpty }
        var providers: [any ConfigProvider] = [
            try provider("command line", of: commandLine, by: \.rawValue),
            try provider("environment", of: environment, by: \.variable),
        ]
        let named = file ?? environment["TIMERD_CONFIG"]
        var openSecret: String?
        if let path = named ?? (exists(paths.configuration) ? paths.configuration : nil) {
            let file = try provider(file: path, uid: uid)
            providers.append(file)
            let stated = Configuration(ConfigReader(provider: file), paths: paths)
            openSecret = Self.openSecret(in: path, of: stated)
        }
        var configuration = Configuration(ConfigReader(providers: providers), paths: paths)
        configuration.openSecret = openSecret
        configuration.misspeltVariables = Setting.misspeltVariables(in: environment.keys)
        if let problem = configuration.shared?.problem(onCommandLine: commandLine["database"]) {
            throw SettingError(description: problem)
        }
        if let (setting, path, other) = configuration.misplacedSocket {
            throw SettingError(
                description: "'\(setting.rawValue)' is '\(path)', in the place of '\(other)'; "
                    + "accepted is a path that no file of the daemon has"
            )
        }
        guard uid == 0 || (configuration.allow.isEmpty && configuration.deny.isEmpty) else {
            let setting: Setting = configuration.allow.isEmpty ? .deny : .allow
            throw SettingError(
                description: "'\(setting.rawValue)' is set, but a daemon that runs as uid \(uid) "
                    + "serves that user alone; accepted is an empty list"
            )
        }
        return configuration
    }

    /// Which of the two sockets would be in the place of another file of the daemon's own, `other`; nil if none would.
    private var misplacedSocket: (setting: Setting, path: String, other: String)? {
        func shared(_ files: [String], with others: [String]) -> String? {
            let places = files.map { FilePath($0).lexicallyNormalized() }
            return others.first { places.contains(FilePath($0).lexicallyNormalized()) }
        }
        let stored = TrustedPath.endingsOfDatabase.map { database + $0 }
        let ofSocket = [socket, socket + SocketFile.endingOfLock]
        // The runner's epoch, its lock and what it keeps for the next one are beside its socket.
        let ofRunner = ["", "-epoch", "-lock", "-ends", "-ends.new"].map { runner + $0 }
        if let other = shared(ofRunner, with: ofSocket + stored) {
            return (.runner, runner, other)
        }
        guard let other = shared(ofSocket, with: stored) else { return nil }
        return (.socket, socket, other)
    }

    /// The absolute path: runs and handlers find the daemon by it, from folders of their own.
    private static func absolute(_ path: String) -> String {
        guard !path.isEmpty, !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        let start = String(cString: folder)
        let rest = path.hasPrefix("./") ? path.dropFirst(2) : path[...]
        return start == "/" ? "/\(rest)" : "\(start)/\(rest)"
    }

    private init(_ reader: ConfigReader, paths: DefaultPaths) {
        func text(_ setting: Setting, _ standard: String) -> String {
            reader.string(forKey: ConfigKey([setting.rawValue]), default: standard)
        }
        func number(_ setting: Setting, _ value: inout Int) {
            value = reader.int(forKey: ConfigKey([setting.rawValue]), default: value)
        }
        func flag(_ setting: Setting, _ value: inout Bool) {
            value = reader.bool(forKey: ConfigKey([setting.rawValue]), default: value)
        }
        func span(_ setting: Setting, _ value: inout Duration) {
            // try?: a setting was checked when it was read; one that is not set is empty here.
            guard let span = try? TimeSpan(parsing: text(setting, "")) else { return }
            value = .microseconds(span.microseconds)
        }
        func list(_ setting: Setting) -> [String] {
            reader.stringArray(forKey: ConfigKey([setting.rawValue]), default: [])
        }
        let node = text(.node, HostName.current)
        var lease = SharedJobs.standardLease
        span(.lease, &lease)
        let copy = Self.absolute(text(.copy, SharedJobs.copy(beside: paths.database, node: node)))
        let place = text(.database, paths.database)
        let shared = SharedJobs(place, node: node, labels: list(.labels), lease: lease)
        self.init(
            database: shared == nil ? Self.absolute(place) : copy,
            socket: Self.absolute(text(.socket, paths.socket))
        )
        self.shared = shared
        unshared = UnsharedJobs(node: node, labels: list(.labels), lease: lease, copy: copy)
        unshared.stated = [Setting.node, .lease, .copy].filter { !text($0, "").isEmpty }
        if !list(.labels).isEmpty { unshared.stated.append(.labels) }
        // One daemon has the default socket, and the runner that the service manager starts for it.
        if shared != nil, socket == paths.socket { runner = Self.runner(of: paths.database) }
        runner = Self.absolute(text(.runner, runner))
        logLevel = Logger.Level(rawValue: text(.logLevel, logLevel.rawValue)) ?? logLevel
        span(.drainTime, &drainTime)
        span(.historyMaxAge, &historyMaxAge)
        span(.endedJobsMaxAge, &endedJobsMaxAge)
        span(.eventsMaxAge, &eventsMaxAge)
        number(.maxRuns, &maxRuns)
        number(.maxRunsPerUser, &maxRunsPerUser)
        number(.maxJobsPerUser, &maxJobsPerUser)
        number(.maxTasksPerUser, &maxTasksPerUser)
        number(.maxFiresPerSecondPerUser, &maxFiresPerSecondPerUser)
        number(.maxBytesPerUser, &maxBytesPerUser)
        runLimits = list(.runLimits)
        flag(.pamSessions, &pamSessions)
        flag(.outputOnStdout, &outputOnStdout)
        defaults = text(.defaults, defaults)
        notify = list(.notify)
        notifyOn = list(.notifyOn)
        mailProgram = text(.mailProgram, mailProgram)
        number(.outputKept, &outputKept)
        credentials = text(.credentials, paths.credentials)
        number(.runsKept, &runsKept)
        number(.maxRunsKept, &maxRunsKept)
        number(.eventsKept, &eventsKept)
        number(.maxConnections, &maxConnections)
        number(.maxConnectionsPerUser, &maxConnectionsPerUser)
        number(.maxInFlight, &maxInFlight)
        number(.maxInFlightPerUser, &maxInFlightPerUser)
        listen = text(.listen, listen)
        allow = list(.allow)
        deny = list(.deny)
    }

    /// Why the place of the database, the socket or the runner cannot be used or trusted, in a sentence; nil if
    /// all can.
    public var untrustedPlace: String? {
        if let problem = TrustedPath.problem(withDatabase: database) {
            return "cannot open database '\(database)': \(problem)"
        }
        return (SocketError.place(socket) ?? SocketError.place(runner))?.description
    }

    /// Refuses a place of the database or of the runner that cannot be used or trusted; that of the socket is
    /// looked at as it is bound, for the service manager may hand one over.
    ///
    /// The database's comes first: by default the runner is beside it, and nobody has named that.
    func checkPlaces() throws {
        try TrustedPath.checkDatabase(database)
        if let error = SocketError.place(runner) { throw error }
    }

    /// The database as it may be shown: without a password.
    public var databaseShown: String { shared?.redacted ?? database }

    /// All settings as the file would have them, and as they count, one a line.
    public var jsonText: String {
        let values = corrected.values + (shared == nil ? [] : nodeValues)
        let lines = values.map { "    \"\($0.rawValue)\": \($1.jsonText)" }
        return "{\n" + lines.joined(separator: ",\n") + "\n}"
    }

    /// The settings in which another configuration differs.
    ///
    /// Not what is named after another one, and changes with it: a copy after the node, a runner after the database.
    func changes(to other: Self) -> [Setting] {
        let isCopyNamed = !(unshared.stated + other.unshared.stated).contains(.copy)
        let isRunnerNamed =
            runner == Self.runner(of: database) && other.runner == Self.runner(of: other.database)
        return zip(values + nodeValues, other.values + other.nodeValues)
            .filter { $0.1 != $1.1 || differsUnseen(in: $0.0, from: other) }
            .map { $0.0.0 }
            .filter { !($0 == .copy && isCopyNamed) && !($0 == .runner && isRunnerNamed) }
    }

    /// Whether another configuration differs in what is not shown of a setting: a password, the rest of a URL.
    private func differsUnseen(in setting: Setting, from other: Self) -> Bool {
        switch setting {
        case .database: shared?.text != other.shared?.text
        case .notify: notify != other.notify
        default: false
        }
    }

    private var values: [(Setting, JSONValue)] {
        func span(_ duration: Duration) -> JSONValue {
            .string(Self.words(of: duration))
        }
        return [
            (.database, .string(databaseShown)), (.socket, .string(socket)),
            (.runner, .string(runner)),
            (.logLevel, .string(logLevel.rawValue)), (.drainTime, span(drainTime)),
            (.maxRuns, .integer(Int64(maxRuns))),
            (.maxRunsPerUser, .integer(Int64(maxRunsPerUser))),
            (.maxJobsPerUser, .integer(Int64(maxJobsPerUser))),
            (.maxTasksPerUser, .integer(Int64(maxTasksPerUser))),
            (.maxFiresPerSecondPerUser, .integer(Int64(maxFiresPerSecondPerUser))),
            (.maxBytesPerUser, .integer(Int64(maxBytesPerUser))),
            (.runLimits, .array(runLimits.map { .string($0) })),
            (.pamSessions, .bool(pamSessions)), (.outputOnStdout, .bool(outputOnStdout)),
            // It was accepted when it was read.
            (.defaults, RunDefaults(json: defaults)?.jsonValue ?? .object([:])),
            // Of a URL no more than jobs show of theirs: what is printed here ends in logs and reports.
            (.notify, .array(notify.map { .string(JobDefinition.reference($0)) })),
            (.notifyOn, .array(notifyOn.map { .string($0) })),
            (.mailProgram, .string(mailProgram)),
            (.outputKept, .integer(Int64(outputKept))),
            (.credentials, .string(credentials)),
            (.runsKept, .integer(Int64(runsKept))),
            (.maxRunsKept, .integer(Int64(maxRunsKept))),
            (.historyMaxAge, span(historyMaxAge)),
            (.endedJobsMaxAge, span(endedJobsMaxAge)),
            (.eventsKept, .integer(Int64(eventsKept))),
            (.eventsMaxAge, span(eventsMaxAge)),
            (.maxConnections, .integer(Int64(maxConnections))),
            (.maxConnectionsPerUser, .integer(Int64(maxConnectionsPerUser))),
            (.maxInFlight, .integer(Int64(maxInFlight))),
            (.maxInFlightPerUser, .integer(Int64(maxInFlightPerUser))),
            (.listen, .string(listen)),
            (.allow, .array(allow.map { .string($0) })),
            (.deny, .array(deny.map { .string($0) })),
        ]
    }

    /// The values of settings that a daemon alone has no use for.
    private var nodeValues: [(Setting, JSONValue)] {
        [
            (.node, .string(shared?.node ?? unshared.node)),
            (.labels, .array((shared?.labels ?? unshared.labels).map { .string($0) })),
            (.lease, .string("\(TimeSpan(shared?.lease ?? unshared.lease))")),
            (.copy, .string(shared == nil ? unshared.copy : database)),
        ]
    }

    /// The settings on the command line or in the environment, checked.
    private static func provider(
        _ name: String,
        of words: [String: String],
        by key: (Setting) -> String
    ) throws(SettingError) -> InMemoryProvider {
        var contents: [Setting: ConfigContent] = [:]
        for setting in Setting.allCases {
            guard let text = words[key(setting)] else { continue }
            // It stands for what is no text: taken as it is, it would be another path, or another user.
            guard !text.unicodeScalars.contains("\u{FFFD}") else {
                throw SettingError(
                    description: "\(key(setting)) has bytes that are no text, accepted is UTF-8"
                )
            }
            guard let content = setting.content(ofWords: text) else {
                throw .unaccepted(setting, setting.shown(ofWords: text), at: key(setting))
            }
            contents[setting] = content
        }
        return provider(name, of: contents)
    }

    private static func provider(_ name: String, of contents: [Setting: ConfigContent])
        -> InMemoryProvider
    {
        let values = contents.map { setting, content in
            (AbsoluteConfigKey([setting.rawValue]), ConfigValue(content, isSecret: false))
        }
        return InMemoryProvider(name: name, values: Dictionary(uniqueKeysWithValues: values))
    }

    private static func provider(file path: String, uid: UInt32) throws(SettingError)
        -> InMemoryProvider
    {
        if let problem = problem(with: path, uid: uid) {
            throw SettingError(description: "the configuration file '\(path)' \(problem)")
        }
        let bytes: [UInt8]
        do throws(Errno) {
            bytes = try Self.bytes(of: path)
        } catch {
            throw SettingError(
                description: "the configuration file '\(path)' cannot be read: \(error.text)"
            )
        }
        return provider(path, of: try SettingsFile(bytes, path: path).contents)
    }

    /// Why a configuration file cannot be trusted, or is not there; nil if it can be read.
    ///
    /// Whoever can write to it decides what root does.
    private static func problem(with path: String, uid: UInt32) -> String? {
        var file = stat()
        guard stat(path, &file) == 0 else {
            return "cannot be read: " + Errno.last.text
        }
        guard file.st_mode & S_IFMT == S_IFREG else {
            return file.st_mode & S_IFMT == S_IFDIR ? "is a directory" : "is no file"
        }
        return TrustedPath.problem(with: path, uid: uid).map { "is not believed: \($0)" }
    }

    private static func bytes(of path: String) throws(Errno) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Errno.last }
        defer { close(file) }
        var (bytes, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 16_384))
        while true {
            let count = Glibc.read(file, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count > 0 { bytes += chunk[..<count] } else if errno != EINTR { throw Errno.last }
        }
    }

    private static func exists(_ path: String) -> Bool {
        var file = stat()
        return stat(path, &file) == 0 || errno != ENOENT && errno != ENOTDIR
    }
}
