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

    /// What tells apart the instants of two settings, however they are spelt.
    private struct Instants: Hashable {
        var schedule: String
        var zone: Zone?
        var delay: TimeSpan?
    }

    var clocks: [Clock] = []
    /// Schedules that cannot be taken over, and why.
    var refusals: [ImportPlan.Refusal] = []
    var notes: [String] = []
    var jitter: String?
    var tolerance: String?
    /// Where the instants of the clocks are asked for.
    private var places: [Instants: String] = [:]
    private let specifiers: UnitSpecifiers

    /// The settings that are read here, or ask for what timerd does anyway.
    static let known = Set(
        clockNames + ["AccuracySec", "RandomizedDelaySec", "Unit"] + flags
    )

    private static let clockNames = [
        "OnCalendar", "OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec",
        "OnUnitInactiveSec",
    ]

    private static let flags = [
        "Persistent", "RemainAfterElapse", "WakeSystem", "FixedRandomDelay",
    ]

    init(_ unit: UnitFile, _ specifiers: UnitSpecifiers, now: Timestamp) {
        self.specifiers = specifiers
        let unit = Self.withoutTakenBack(unit)
        let misfire: JobDefinition.Misfire = unit.isOn("Persistent", in: "Timer") ? .once : .skip
        for setting in unit.settings("OnCalendar", in: "Timer") {
            guard let value = value(of: setting) else { continue }
            add(setting, ScheduleWords(calendar: value), .calendar(value), misfire, now)
        }
        for name in ["OnUnitActiveSec", "OnUnitInactiveSec"] {
            for setting in unit.settings(name, in: "Timer") {
                guard let value = value(of: setting) else { continue }
                let rule = SourceRule.none("from the last run on")
                let isNew = add(setting, ScheduleWords(every: value), rule, nil, now)
                if isNew, name == "OnUnitInactiveSec" {
                    notes.append(
                        setting.carriedOtherwise("counted from date to date, not from a run's end")
                    )
                }
            }
        }
        for name in ["OnActiveSec", "OnBootSec", "OnStartupSec"] {
            for setting in unit.settings(name, in: "Timer") { addStart(setting, now) }
        }
        if clocks.isEmpty, refusals.isEmpty {
            refusals.append(
                ImportPlan.Refusal(
                    place: unit.name,
                    text: "[Timer]",
                    reason: "it says at no time; needed is OnCalendar= or another On...="
                )
            )
        }
        readDelays(unit)
        readFlags(unit)
    }

    /// An empty clock takes back all clocks before it, whatever their names: systemd.timer(5).
    private static func withoutTakenBack(_ unit: UnitFile) -> UnitFile {
        func isClock(_ setting: UnitFile.Setting) -> Bool {
            setting.section == "Timer" && clockNames.contains(setting.name)
        }
        var unit = unit
        guard let end = unit.settings.lastIndex(where: { isClock($0) && $0.value.isEmpty }) else {
            return unit
        }
        let settings = unit.settings
        unit.settings = settings[..<end].filter { !isClock($0) } + settings[end...]
        return unit
    }

    /// Adds a job's times; false if there are none, or if another setting asks for the same instants.
    @discardableResult private mutating func add(
        _ setting: UnitFile.Setting,
        _ words: ScheduleWords,
        _ rule: SourceRule,
        _ misfire: JobDefinition.Misfire?,
        _ now: Timestamp,
        delay: TimeSpan? = nil
    ) -> Bool {
        do {
            // Checked as the daemon will check it; its zone may be another, but it accepts the same.
            let schedule = try words.resolve(now: now, zone: .local).schedule
            let instants = Instants(
                schedule: schedule.normalized,
                zone: schedule.zone,
                delay: delay
            )
            // systemd elapses once, however often it is told.
            if let place = places[instants] {
                notes.append(
                    setting.notCarried("the job of \(place) fires at the same instants, once")
                )
                return false
            }
            places[instants] = setting.place
            clocks.append(
                Clock(
                    text: setting.assignment,
                    schedule: words.namingZone(of: schedule),
                    rule: rule,
                    misfire: misfire,
                    delay: delay
                )
            )
            return true
        } catch {
            refuse(setting, error.message)
            return false
        }
    }

    /// What a clock says, with what "%i" and the like stand for; nil, with a refusal, for one that is not understood.
    private mutating func value(of setting: UnitFile.Setting) -> String? {
        do {
            return try specifiers.expanded(setting.value)
        } catch {
            refuse(setting, error.reason)
            return nil
        }
    }

    private mutating func refuse(_ setting: UnitFile.Setting, _ reason: String) {
        refusals.append(.init(place: setting.place, text: setting.assignment, reason: reason))
    }

    /// Adds a delay after the start of the machine.
    ///
    /// One after the start of the timer, or of systemd, is treated alike, as it is nearly the same.
    private mutating func addStart(_ setting: UnitFile.Setting, _ now: Timestamp) {
        if clocks.contains(where: { $0.schedule.every != nil }) {
            notes.append(
                setting.notCarried(
                    "dates go on through a restart, and one that was missed is made up for at once"
                )
            )
            return
        }
        guard let value = value(of: setting) else { return }
        do {
            let delay = try TimeSpan(parsing: value)
            let isNew = add(
                setting,
                ScheduleWords(cron: "@reboot"),
                .none("at a start"),
                nil,
                now,
                delay: delay > .zero ? delay : nil
            )
            let meanings = [
                setting.name == "OnBootSec" ? nil : "it is counted from the start of the machine",
                delay > .zero ? "its run sleeps until then, and counts as one in progress" : nil,
            ].compactMap(\.self)
            if isNew, !meanings.isEmpty {
                notes.append(setting.carriedOtherwise(meanings.joined(separator: "; ")))
            }
        } catch {
            refuse(setting, error.message)
        }
    }

    private mutating func readDelays(_ unit: UnitFile) {
        func span(_ name: String) -> TimeSpan? {
            guard let setting = unit.last(of: [name], in: "Timer") else { return nil }
            // try?: a length that cannot be read counts as not given.
            let span = try? TimeSpan(parsing: setting.value)
            if span == nil {
                notes.append(setting.notCarried("it is no length of time"))
                for earlier in unit.settings(name, in: "Timer") where earlier != setting {
                    notes.append(earlier.saidAnew(by: setting))
                }
            }
            return span
        }
        if let delay = span("RandomizedDelaySec"), delay > .zero { jitter = delay.description }
        // Up to a millisecond is no tolerance; systemd's default of a minute is not taken over.
        if let accuracy = span("AccuracySec"), accuracy > .milliseconds(1) {
            tolerance = accuracy.description
        }
    }

    /// Tells of the flags that ask for more than timerd does.
    private mutating func readFlags(_ unit: UnitFile) {
        notes += unit.untrue(Self.flags, in: "Timer")
        let others = [
            ("WakeSystem", true, "timerd wakes no sleeping machine; misfire makes up for it"),
            ("FixedRandomDelay", true, "a job's delay differs from date to date"),
            ("RemainAfterElapse", false, "a job that has ended is kept for 30 days"),
        ]
        for (name, isOn, reason) in others {
            let settings = unit.settings(name, in: "Timer")
            guard let last = settings.last(where: { UnitFile.truth(of: $0.value) != nil }),
                UnitFile.truth(of: last.value) == isOn
            else { continue }
            notes.append(last.notCarried(reason))
        }
    }
}
