// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// What a run of a service may use, how long it may take, and when it has failed.
extension ServiceUnit {
    mutating func readLimits(_ definition: inout JobDefinition) {
        let settings: [(String, JobOption)] = [
            ("Nice", .nice), ("UMask", .umask), ("MemoryMax", .memoryMax),
            ("MemoryHigh", .memoryHigh), ("CPUWeight", .cpuWeight), ("CPUQuota", .cpuQuota),
            ("TasksMax", .tasksMax), ("IOWeight", .ioWeight),
        ]
        let mayBeEndless: Set<JobOption> = [.memoryMax, .memoryHigh, .tasksMax]
        for (name, option) in settings {
            guard let setting = setting(name),
                setting.value != "infinity" || !mayBeEndless.contains(option)
            else { continue }
            // systemd gives it as root; the daemon would refuse the job.
            if option == .nice, !isUser, owner.uid != 0, setting.value.hasPrefix("-") {
                leaveOut(setting, "a run of \(owner.name) cannot have less than 0")
                continue
            }
            take(setting, setting.value, as: option, &definition)
        }
        readProcessLimit("LimitCPU", .cpuTime, &definition)
        guard let size = setting("LimitAS"), definition.memoryMax != nil else {
            return readProcessLimit("LimitAS", .memoryMax, &definition)
        }
        notes.append(size.notCarried("MemoryMax= is the job's limit"))
    }

    /// Takes a limit of each process, "soft:hard", of which a run has one.
    private mutating func readProcessLimit(
        _ name: String,
        _ option: JobOption,
        _ definition: inout JobDefinition
    ) {
        guard let setting = setting(name), setting.value != "infinity" else { return }
        let limits = setting.value.split(separator: ":", maxSplits: 1)
        guard let soft = limits.first, soft != "infinity" else {
            return notes.append(setting.notCarried("a run has no hard limit beside the soft one"))
        }
        guard take(setting, String(soft), as: option, &definition) else { return }
        notes.append(
            setting.carriedOtherwise(
                option == .memoryMax
                    ? "\(soft) is the limit of all processes of a run together"
                    : "a process gets SIGXCPU at \(soft), and SIGKILL 5s later"
            )
        )
    }

    /// Takes a limit that a run has as well; false, with a note, for a value that no run can have.
    @discardableResult private mutating func take(
        _ setting: UnitFile.Setting,
        _ value: String,
        as option: JobOption,
        _ definition: inout JobDefinition
    ) -> Bool {
        do throws(OptionRefusal) {
            let stated: OptionValue =
                option.form.shape == .integer
                ? Int(value).map(OptionValue.integer) ?? .text(value) : .text(value)
            var limit = JobDefinition(schedule: ScheduleWords())
            try limit.set(option, stated)
            _ = try ProcessLimits(limit)
            try definition.set(option, stated)
            return true
        } catch {
            leaveOut(
                setting,
                "a run's --\(option.flag ?? option.rawValue) is \(option.form.accepted)"
            )
            return false
        }
    }

    /// Tells of a value that no run can have, and of those above it, one of which counts to systemd where that cannot read it
    /// either.
    private mutating func leaveOut(_ setting: UnitFile.Setting, _ reason: String) {
        notes.append(setting.notCarried(reason))
        for earlier in settings(setting.name) where earlier != setting {
            notes.append(earlier.saidAnew(by: setting))
        }
    }

    /// The same of what is no length of time; `TimeoutSec=` says two others anew, and each of these a half of it.
    private mutating func leaveOut(length setting: UnitFile.Setting) {
        leaveOut(setting, "it is no length of time")
        let above = unit.settings.prefix { $0 != setting }
        func earlier(_ name: String) -> UnitFile.Setting? {
            settings(name).last { above.contains($0) && Self.length($0) != nil }
        }
        switch setting.name {
        case "TimeoutSec":
            for earlier in ["TimeoutStartSec", "TimeoutStopSec"].compactMap(earlier) {
                notes.append(earlier.saidAnew(by: setting))
            }
        case "TimeoutStartSec", "TimeoutStopSec":
            if let earlier = earlier("TimeoutSec") {
                notes.append(earlier.carriedOtherwise("\(setting.place) says a half of it anew"))
            }
        default: break
        }
    }

    // MARK: - Time

    mutating func readTimes(_ definition: inout JobDefinition) {
        let names = [
            "TimeoutStartSec", "TimeoutStopSec", "TimeoutSec", "RuntimeMaxSec", "RestartSec",
        ]
        for setting in names.compactMap({ setting($0) }) where Self.length(setting) == nil {
            leaveOut(length: setting)
        }
        let (runtime, start) = (setting("RuntimeMaxSec"), setting("TimeoutStartSec", "TimeoutSec"))
        // systemd counts all of a oneshot service's run as its start.
        definition.timeout = Self.limit(isOneshot ? start : runtime)
        if isOneshot, let runtime, Self.limit(runtime) != nil {
            notes.append(runtime.notCarried("systemd does not heed it with Type=oneshot either"))
        } else if !isOneshot, let start, Self.limit(start) != nil {
            notes.append(
                start.name == "TimeoutSec"
                    ? start.carriedOtherwise("it limits the end of a run alone")
                    : start.notCarried("a run has no start to limit apart from the rest")
            )
        }
        guard let stop = setting("TimeoutStopSec", "TimeoutSec"), Self.length(stop) != nil else {
            // What systemd has where its own settings (DefaultTimeoutStopSec=) say no other.
            definition.killAfter = "90s"
            return
        }
        definition.killAfter = Self.limit(stop)
        if definition.killAfter == nil {
            notes.append(stop.notCarried("SIGKILL follows SIGTERM after 5s"))
        }
    }

    /// Nil for what is no length of time; zero for "infinity", which systemd says with either.
    private static func length(_ setting: UnitFile.Setting) -> TimeSpan? {
        // try?: what is no length of time is told of with its place.
        setting.value == "infinity" ? .zero : try? TimeSpan(parsing: setting.value)
    }

    /// Nil where there is no limit; a run without the setting has none either.
    private static func limit(_ setting: UnitFile.Setting?) -> String? {
        guard let span = setting.flatMap(length), span > .zero else { return nil }
        return span.description
    }

    // MARK: - Failure

    /// The exit statuses of the main process that are no failure; tells of those that a run does not know.
    mutating func readSuccess() -> Set<Int32> {
        var codes: Set<Int32> = []
        for setting in settings("SuccessExitStatus") {
            let words = setting.value.split(whereSeparator: \.isWhitespace)
            let numbers = words.compactMap { UInt8($0) }.map(Int32.init)
            codes.formUnion(numbers)
            let others = words.filter { UInt8($0) == nil }.joined(separator: ", ")
            guard !others.isEmpty else { continue }
            let reason = "only numbers from 0 to 255 count, not \(others)"
            notes.append(
                numbers.isEmpty ? setting.notCarried(reason) : setting.carriedOtherwise(reason)
            )
        }
        return codes
    }

    /// - Throws: for one that systemd refuses the service for.
    mutating func readRestart(_ definition: inout JobDefinition) throws(Mistake) {
        let ofFailures = ["always", "on-failure", "on-abnormal", "on-watchdog", "on-abort"]
        let restart = known("Restart", ["no", "on-success"] + ofFailures, "there is no such value")
        if let restart, restart.value != "no" {
            if isOneshot, ["always", "on-success"].contains(restart.value) {
                throw Mistake(
                    reason: "systemd refuses it with Type=oneshot, and never runs the service",
                    setting: restart
                )
            }
            if ofFailures.contains(restart.value) {
                // The default of StartLimitBurst, at which systemd gives up if its attempts follow fast.
                definition.retries = 5
                let pause = Self.limit(setting("RestartSec")) ?? "100ms"
                definition.backoff = "\(pause)..\(pause)"
                notes.append(
                    restart.carriedOtherwise(
                        "a run that failed, and no other, is tried 5 times more, up to \(pause) apart"
                    )
                )
                return
            }
            notes.append(restart.notCarried("a run that succeeded is not repeated"))
        }
        if let pause = setting("RestartSec"), Self.length(pause) != nil {
            notes.append(pause.notCarried("no run is restarted"))
        }
    }
}
