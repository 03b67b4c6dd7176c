// SPDX-License-Identifier: Apache-2.0

import Glibc
package import JobModel

/// What the control groups are that the runner makes for runs.
package struct ControlGroups: Sendable, Hashable {
    /// What they limit and count.
    struct Controllers: OptionSet, Hashable, Sendable {
        let rawValue: UInt8
        static let memory = Self(rawValue: 1)
        static let cpu = Self(rawValue: 2)
        static let tasks = Self(rawValue: 4)
        static let io = Self(rawValue: 8)
    }

    /// Whether each run has one.
    package var areThere: Bool
    var controllers: Controllers
    /// Why there are none, or what they lack, as the runner says it; empty where nothing is missing.
    package var lack: String
}

extension ControlGroups {
    /// What is there of the controllers, by the kernel's names.
    package var names: [String] {
        let all: [(Controllers, String)] = [
            (.memory, "memory"), (.cpu, "cpu"), (.tasks, "pids"), (.io, "io"),
        ]
        return all.filter { controllers.contains($0.0) }.map(\.1)
    }

    /// Which of the options have no effect.
    package func withoutEffect(_ options: [JobOption]) -> [JobOption] {
        options.filter { option in option.controller.map { !names.contains($0) } ?? false }
    }
}

extension RunnerReport.End {
    /// Whether its own process was ended for lack of memory.
    var wasEndedForMemory: Bool { lackedMemory && outcome == .signalled && code == SIGKILL }
}

extension ProcessLimits {
    /// What a run that was ended for lack of memory may have had.
    var memoryWords: String {
        let limit = memoryMax.map { ": memory-max=\(Self.words($0))" }
        return "killed for lack of memory" + (limit ?? "")
    }

    /// Bytes as one would write them: 64M, or 1500.
    private static func words(_ bytes: UInt64) -> String {
        let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K")] as [(UInt64, String)]
        let unit = units.first { bytes > 0 && bytes % (1 << $0.0) == 0 }
        return unit.map { "\(bytes >> $0.0)\($0.1)" } ?? "\(bytes)"
    }
}
