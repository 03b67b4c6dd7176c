// SPDX-License-Identifier: Apache-2.0

import Schedules

/// What the kernel holds a run to; nil for no limit, and for what it inherits.
package struct ProcessLimits: Hashable, Sendable {
    /// -20 to 19.
    package var nice: Int32?
    /// In bytes, of all its processes together; of each by RLIMIT_AS, where there is no control group for that.
    package var memoryMax: UInt64?
    /// From how many bytes on all its processes together are slowed down, and give memory back.
    package var memoryHigh: UInt64?
    /// Of processor time beside others', 1 to 10000; 100 where nothing is said.
    package var cpuWeight: UInt32?
    /// Of processor time, in percent of one processor.
    package var cpuQuota: UInt32?
    /// How many threads all its processes may have.
    package var tasksMax: UInt64?
    /// Of reading and writing beside others', 1 to 10000; 100 where nothing is said.
    package var ioWeight: UInt32?
    /// RLIMIT_CPU of each process, in seconds.
    package var cpuTime: UInt64?
    package var umask: UInt32

    package init(
        nice: Int32? = nil,
        memoryMax: UInt64? = nil,
        cpuTime: UInt64? = nil,
        umask: UInt32 = 0o022
    ) {
        (self.nice, self.memoryMax, self.cpuTime) = (nice, memoryMax, cpuTime)
        self.umask = umask
    }
}

extension ProcessLimits {
    /// Reads `definition`'s options.
    package init(_ definition: JobDefinition) throws(OptionRefusal) {
        self.init()
        if let nice = definition.nice {
            try JobOption.nice.check(.integer(nice))
            self.nice = Int32(nice)
        }
        let words = definition.words
        for option in JobOption.ofControlGroups {
            if let value = words[option] { try set(option, value) }
        }
        if let text = definition.cpuTime {
            let span = try JobOption.cpuTime.span(text)
            // The kernel counts whole seconds; what was asked for is to be had.
            cpuTime = UInt64((span.microseconds + 999_999) / 1_000_000)
        }
        if let text = definition.umask { umask = try JobOption.umask.mask(text) }
    }

    /// Takes one of `JobOption.ofControlGroups`.
    package mutating func set(_ option: JobOption, _ value: OptionValue) throws(OptionRefusal) {
        switch (option, value) {
        case (.memoryMax, .text(let text)): memoryMax = UInt64(try option.bytes(text))
        case (.memoryHigh, .text(let text)): memoryHigh = UInt64(try option.bytes(text))
        case (.cpuQuota, .text(let text)): cpuQuota = UInt32(try option.percent(text))
        case (_, .integer(let number)):
            try option.check(value)
            switch option {
            case .cpuWeight: cpuWeight = UInt32(number)
            case .ioWeight: ioWeight = UInt32(number)
            case .tasksMax: tasksMax = UInt64(number)
            default: break
            }
        default: break
        }
    }

    /// Which of `JobOption.ofControlGroups` it limits.
    package var ofControlGroups: [JobOption] {
        let stated: [(JobOption, Bool)] = [
            (.memoryMax, memoryMax != nil), (.memoryHigh, memoryHigh != nil),
            (.cpuWeight, cpuWeight != nil), (.cpuQuota, cpuQuota != nil),
            (.tasksMax, tasksMax != nil), (.ioWeight, ioWeight != nil),
        ]
        return stated.filter(\.1).map(\.0)
    }

    /// With the limits of control groups from `others` where it has none of its own.
    package func completed(by others: Self) -> Self {
        var limits = self
        limits.memoryMax = memoryMax ?? others.memoryMax
        limits.memoryHigh = memoryHigh ?? others.memoryHigh
        limits.cpuWeight = cpuWeight ?? others.cpuWeight
        limits.cpuQuota = cpuQuota ?? others.cpuQuota
        limits.tasksMax = tasksMax ?? others.tasksMax
        limits.ioWeight = ioWeight ?? others.ioWeight
        return limits
    }
}

extension JobOption {
    /// The limits of a run that its control group carries out.
    package static let ofControlGroups: [Self] = [
        .memoryMax, .memoryHigh, .cpuWeight, .cpuQuota, .tasksMax, .ioWeight,
    ]

    /// The controller that one of them needs, by the kernel's name; nil for all other options.
    package var controller: String? {
        switch self {
        case .memoryMax, .memoryHigh: "memory"
        case .cpuWeight, .cpuQuota: "cpu"
        case .tasksMax: "pids"
        case .ioWeight: "io"
        default: nil
        }
    }
}
