// SPDX-License-Identifier: Apache-2.0

package import Schedules

extension JobDefinition {
    /// What is stated for an option; nil where nothing is.
    package subscript(option: JobOption) -> OptionValue? { storage.words[option] }

    /// States a value.
    ///
    /// - Throws: for one that the option has no place for: of another shape, a word that is none of its
    ///   own, a number of too many bits.
    package mutating func set(_ option: JobOption, _ value: OptionValue) throws(OptionRefusal) {
        var words = words
        try words.set(option, value)
        self = JobDefinition(words)
    }

    /// Whether another definition has the same dates, and the same is done at them: a job's fires are
    /// known by its dates, so what differs in this is another job.
    package func hasDates(of other: Self, now: Timestamp, zone: Zone) -> Bool {
        guard (self.command == nil) == (other.command == nil),
            (self.queue == nil) == (other.queue == nil)
        else { return false }
        if self.schedule == other.schedule { return true }
        do {
            return try self.schedule.hasDates(of: other.schedule, now: now, zone: zone)
        } catch {
            // One that can fire no more is another schedule.
            return false
        }
    }
}

extension JobDefinition.Words {
    /// What is stated for an option; nil where nothing is.
    package subscript(option: JobOption) -> OptionValue? {
        switch option {
        case .every: schedule.every.map(OptionValue.text)
        case .from: schedule.from.map(OptionValue.text)
        case .at: schedule.at.map(OptionValue.text)
        case .in: schedule.in.map(OptionValue.text)
        case .cron: schedule.cron.map(OptionValue.text)
        case .calendar: schedule.calendar.map(OptionValue.text)
        case .tz: schedule.tz.map(OptionValue.text)
        case .name: name.map(OptionValue.text)
        case .command: command.map(OptionValue.texts)
        case .cwd: cwd.map(OptionValue.text)
        case .env: env.map(OptionValue.variables)
        case .envFile: envFile.map(OptionValue.texts)
        case .credentials: credentials.map(OptionValue.texts)
        case .userInfo: userInfo.map(OptionValue.json)
        case .tags: tags.map(OptionValue.texts)
        case .paused: paused.map(OptionValue.flag)
        case .count: count.map(OptionValue.integer)
        case .until: until.map(OptionValue.text)
        case .tolerance: tolerance.map(OptionValue.text)
        case .jitter: jitter.map(OptionValue.text)
        case .misfire: misfire.map { .text($0.rawValue) }
        case .misfireLimit: misfireLimit.map(OptionValue.integer)
        case .misfireAfter: misfireAfter.map(OptionValue.text)
        case .misfireWindow: misfireWindow.map(OptionValue.text)
        case .timeout: timeout.map(OptionValue.text)
        case .killAfter: killAfter.map(OptionValue.text)
        case .overlap: overlap.map { .text($0.rawValue) }
        case .retries: retries.map(OptionValue.integer)
        case .backoff: backoff.map(OptionValue.text)
        case .successCodes: successCodes.map { .integers($0.map(Int.init)) }
        case .onFailure: onFailure.map(OptionValue.texts)
        case .onSuccess: onSuccess.map(OptionValue.texts)
        case .notify: notify.map(OptionValue.texts)
        case .notifyOn: notifyOn.map(OptionValue.texts)
        case .notifyLate: notifyLate.map(OptionValue.text)
        case .notifyEvery: notifyEvery.map(OptionValue.text)
        case .ping: ping.map(OptionValue.text)
        case .rerunInterrupted: rerunInterrupted.map(OptionValue.flag)
        case .output: output.map { .text($0.rawValue) }
        case .outputKept: outputKept.map(OptionValue.text)
        case .keepRuns: keepRuns.map(OptionValue.integer)
        case .on: on.map(OptionValue.text)
        case .queue: queue.map(OptionValue.text)
        case .priority: priority.map(OptionValue.integer)
        case .key: key.map(OptionValue.text)
        case .keyKept: keyKept.map(OptionValue.text)
        case .nice: nice.map(OptionValue.integer)
        case .memoryMax: memoryMax.map(OptionValue.text)
        case .memoryHigh: memoryHigh.map(OptionValue.text)
        case .cpuWeight: cpuWeight.map(OptionValue.integer)
        case .cpuQuota: cpuQuota.map(OptionValue.text)
        case .tasksMax: tasksMax.map(OptionValue.integer)
        case .ioWeight: ioWeight.map(OptionValue.integer)
        case .cpuTime: cpuTime.map(OptionValue.text)
        case .umask: umask.map(OptionValue.text)
        case .whilePid: whilePid.map { .integer(Int($0)) }
        case .whileConnected: whileConnected.map(OptionValue.flag)
        }
    }

    /// States a value; throws as `JobDefinition.set` does.
    package mutating func set(
        _ option: JobOption,
        _ value: OptionValue
    ) throws(OptionRefusal) {
        switch option {
        case .every: schedule.every = try option.text(value)
        case .from: schedule.from = try option.text(value)
        case .at: schedule.at = try option.text(value)
        case .in: schedule.in = try option.text(value)
        case .cron: schedule.cron = try option.text(value)
        case .calendar: schedule.calendar = try option.text(value)
        case .tz: schedule.tz = try option.text(value)
        case .name: name = try option.text(value)
        case .command: command = try option.texts(value)
        case .cwd: cwd = try option.text(value)
        case .env: env = try option.variables(value)
        case .envFile: envFile = try option.texts(value)
        case .credentials: credentials = try option.texts(value)
        case .userInfo: userInfo = try option.json(value)
        case .tags: tags = try option.texts(value)
        case .paused: paused = try option.flag(value)
        case .count: count = try option.number(value)
        case .until: until = try option.text(value)
        case .tolerance: tolerance = try option.text(value)
        case .jitter: jitter = try option.text(value)
        case .misfire: misfire = try option.choice(value)
        case .misfireLimit: misfireLimit = try option.number(value)
        case .misfireAfter: misfireAfter = try option.text(value)
        case .misfireWindow: misfireWindow = try option.text(value)
        case .timeout: timeout = try option.text(value)
        case .killAfter: killAfter = try option.text(value)
        case .overlap: overlap = try option.choice(value)
        case .retries: retries = try option.number(value)
        case .backoff: backoff = try option.text(value)
        case .successCodes: successCodes = try option.numbers(value)
        case .onFailure: onFailure = try option.texts(value)
        case .onSuccess: onSuccess = try option.texts(value)
        case .notify: notify = try option.texts(value)
        case .notifyOn: notifyOn = try option.texts(value)
        case .notifyLate: notifyLate = try option.text(value)
        case .notifyEvery: notifyEvery = try option.text(value)
        case .ping: ping = try option.text(value)
        case .rerunInterrupted: rerunInterrupted = try option.flag(value)
        case .output: output = try option.choice(value)
        case .outputKept: outputKept = try option.text(value)
        case .keepRuns: keepRuns = try option.number(value)
        case .on: on = try option.text(value)
        case .queue: queue = try option.text(value)
        case .priority: priority = try option.number(value)
        case .key: key = try option.text(value)
        case .keyKept: keyKept = try option.text(value)
        case .nice: nice = try option.number(value)
        case .memoryMax: memoryMax = try option.text(value)
        case .memoryHigh: memoryHigh = try option.text(value)
        case .cpuWeight: cpuWeight = try option.number(value)
        case .cpuQuota: cpuQuota = try option.text(value)
        case .tasksMax: tasksMax = try option.number(value)
        case .ioWeight: ioWeight = try option.number(value)
        case .cpuTime: cpuTime = try option.text(value)
        case .umask: umask = try option.text(value)
        case .whilePid: whilePid = try option.number(value)
        case .whileConnected: whileConnected = try option.flag(value)
        }
    }
}

/// A value in the shape that an option has.
extension JobOption {
    fileprivate func text(_ value: OptionValue) throws(OptionRefusal) -> String {
        guard case .text(let text) = value else { throw misshapen }
        return text
    }

    fileprivate func texts(_ value: OptionValue) throws(OptionRefusal) -> [String] {
        guard case .texts(let texts) = value else { throw misshapen }
        return texts
    }

    fileprivate func variables(_ value: OptionValue) throws(OptionRefusal) -> [String: String] {
        guard case .variables(let variables) = value else { throw misshapen }
        return variables
    }

    fileprivate func json(_ value: OptionValue) throws(OptionRefusal) -> JSONText {
        guard case .json(let text) = value else { throw misshapen }
        return text
    }

    fileprivate func flag(_ value: OptionValue) throws(OptionRefusal) -> Bool {
        guard case .flag(let flag) = value else { throw misshapen }
        return flag
    }

    fileprivate func choice<Choice: RawRepresentable<String>>(
        _ value: OptionValue
    ) throws(OptionRefusal) -> Choice {
        let word = try text(value)
        guard let choice = Choice(rawValue: word) else {
            throw refusal(of: word.debugDescription)
        }
        return choice
    }

    fileprivate func number<Number: FixedWidthInteger>(
        _ value: OptionValue
    ) throws(OptionRefusal) -> Number {
        guard case .integer(let number) = value else { throw misshapen }
        return try exact(number, at: nil)
    }

    fileprivate func numbers(_ value: OptionValue) throws(OptionRefusal) -> [Int32] {
        guard case .integers(let numbers) = value else { throw misshapen }
        var result: [Int32] = []
        for (index, number) in numbers.enumerated() {
            result.append(try exact(number, at: .index(index)))
        }
        return result
    }

    private func exact<Number: FixedWidthInteger>(
        _ number: Int,
        at part: OptionRefusal.Part?
    ) throws(OptionRefusal) -> Number {
        guard let exact = Number(exactly: number) else {
            throw refusal(
                of: "\(number)",
                at: part,
                expecting: "an integer of \(Number.bitWidth) bits"
            )
        }
        return exact
    }

    private var misshapen: OptionRefusal { refusal(of: "of another kind") }
}
