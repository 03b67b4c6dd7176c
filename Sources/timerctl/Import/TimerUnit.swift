// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The schedules of a timer unit: systemd.timer(5).
struct TimerUnit {
    /// One setting that becomes a job.
    struct Clock: Hashable {
        /// "OnCalendar=daily".
        var text: String
        var schedule: ScheduleWords
        var rule: SourceRule
        var misfire: JobDefinition.Misfire?
        /// How long after the start of the machine it fires.
        var delay: TimeSpan?
    }

    var clocks: [Clock] = []
    /// Schedules that cannot be taken over, and why.
    var refusals: [(text: String, reason: String)] = []
    var notes: [String] = []
    var jitter: String?
    var tolerance: String?

    /// The settings that are read here, or ask for what timerd does anyway.
    static let known: Set = [
        "OnCalendar", "OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec",
        "OnUnitInactiveSec", "Persistent", "AccuracySec", "RandomizedDelaySec", "Unit",
        "RemainAfterElapse", "WakeSystem", "FixedRandomDelay",
    ]

    init(_ unit: UnitFile, now: Timestamp) {
        let isPersistent = unit.isOn("Persistent", in: "Timer")
        for value in unit.values("OnCalendar", in: "Timer") {
            let words = ScheduleWords(calendar: value)
            add("OnCalendar=\(value)", words, .calendar(value), isPersistent ? .once : .skip, now)
        }
        for name in ["OnUnitActiveSec", "OnUnitInactiveSec"] {
            for value in unit.values(name, in: "Timer") {
                let rule = SourceRule.none("from the last run on")
                add("\(name)=\(value)", ScheduleWords(every: value), rule, nil, now)
                if name == "OnUnitInactiveSec" {
                    notes.append(
                        "\(name)=\(value): counted from date to date, not from a run's end"
                    )
                }
            }
        }
        for name in ["OnActiveSec", "OnBootSec", "OnStartupSec"] {
            for value in unit.values(name, in: "Timer") { addStart(name, value, now) }
        }
        if clocks.isEmpty, refusals.isEmpty {
            refusals.append(
                ("[Timer]", "it says at no time; needed is OnCalendar= or another On...=")
            )
        }
        readDelays(unit)
    }

    private mutating func add(
        _ text: String,
        _ words: ScheduleWords,
        _ rule: SourceRule,
        _ misfire: JobDefinition.Misfire?,
        _ now: Timestamp
    ) {
        do {
            // Checked as the daemon will check it; its zone may be another, but it accepts the same.
            let schedule = try words.resolve(now: now, zone: .local).schedule
            let named = words.namingZone(of: schedule)
            clocks.append(Clock(text: text, schedule: named, rule: rule, misfire: misfire))
        } catch {
            refusals.append((text, error.message))
        }
    }

    /// Adds a delay after the start of the machine.
    ///
    /// One after the start of the timer is treated alike, as it is nearly the same.
    private mutating func addStart(_ name: String, _ value: String, _ now: Timestamp) {
        if clocks.contains(where: { $0.schedule.every != nil }) {
            notes.append(
                "\(name)=\(value) is left out: dates go on through a restart, and one that was "
                    + "missed is made up for at once"
            )
            return
        }
        do {
            let delay = try TimeSpan(parsing: value)
            add("\(name)=\(value)", ScheduleWords(cron: "@reboot"), .none("at a start"), nil, now)
            if delay > .zero { clocks[clocks.count - 1].delay = delay }
        } catch {
            refusals.append(("\(name)=\(value)", error.message))
        }
    }

    private mutating func readDelays(_ unit: UnitFile) {
        func span(_ name: String) -> TimeSpan? {
            guard let text = unit.value(name, in: "Timer") else { return nil }
            // try?: a length that cannot be read counts as not given.
            let span = try? TimeSpan(parsing: text)
            if span == nil { notes.append("\(name)=\(text) is no length of time, and left out") }
            return span
        }
        if let delay = span("RandomizedDelaySec"), delay > .zero {
            jitter = delay.description
            if unit.isOn("FixedRandomDelay", in: "Timer") {
                notes.append("FixedRandomDelay: here a job's delay differs from date to date")
            }
        }
        // Up to a millisecond is no tolerance; systemd's default of a minute is not taken over.
        if let accuracy = span("AccuracySec"), accuracy > .milliseconds(1) {
            tolerance = accuracy.description
        }
        if unit.isOn("WakeSystem", in: "Timer") {
            notes.append(
                "WakeSystem: timerd wakes no sleeping machine; Persistent= and misfire make up for it"
            )
        }
    }
}
