// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemPackage

/// A run's process that may have outlived the daemon which started it.
struct ProcessIdentity: Sendable, Hashable {
    let pid: pid_t
    /// When it was started, as `ticks(of:)` said then: another process may have the number by now.
    let ticks: Int64

    /// When a process was started, in clock ticks since the machine started; nil if there is none.
    static func ticks(of pid: pid_t) -> Int64? {
        ProcessStatus(of: pid)?.ticks
    }

    /// Finds the processes that a daemon with that socket started for `runs`, by their environment.
    ///
    /// For runs whose process was not recorded, because the daemon died before that. `runs` holds the uid of
    /// each run: any user could give a process such an environment. Looks at every process there is.
    static func find(_ runs: [Int64: UInt32], socket: String) -> [Int64: ProcessIdentity] {
        guard !runs.isEmpty else { return [:] }
        var found: [Int64: ProcessIdentity] = [:]
        for pid in ProcessStatus.allProcesses ?? [] {
            // The run's own process leads its session; processes that it started are found by their group.
            guard getsid(pid) == pid, let run = run(of: pid, socket), let user = runs[run],
                ProcessStatus.user(of: pid) == user, let ticks = ticks(of: pid)
            else { continue }
            found[run] = ProcessIdentity(pid: pid, ticks: ticks)
        }
        return found
    }

    private static func run(of pid: pid_t, _ socket: String) -> Int64? {
        guard let bytes = ProcessStatus.contents(of: pid, "environ") else { return nil }
        let variables = bytes.split(separator: 0)
        guard variables.contains(where: { $0.elementsEqual("TIMERD_SOCKET=\(socket)".utf8) }) else {
            return nil
        }
        let name = "TIMERD_RUN_ID="
        let run = variables.first { $0.starts(with: name.utf8) }?.dropFirst(name.utf8.count)
        return run.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
    }

    /// Whether it is still the process that was started, and has not ended.
    var lives: Bool {
        guard let status = ProcessStatus(of: pid) else { return false }
        return status.ticks == ticks && !status.hasEnded
    }

    /// As `lives`, but throws if that cannot be found out now.
    func isThere() throws(Errno) -> Bool {
        guard let status = try ProcessStatus.look(at: pid) else { return false }
        return status.ticks == ticks && !status.hasEnded
    }
}
