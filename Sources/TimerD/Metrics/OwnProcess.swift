// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TimerControl

extension MetricsReply.Process {
    /// This process as it is now.
    static func own() -> Self {
        Self(residentMemory: ownMemory, processorTime: ownProcessorTime)
    }

    /// In bytes, by proc_pid_statm(5); 0 where /proc is not mounted.
    private static var ownMemory: Int64 {
        // try?: reported as 0.
        let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        let pages = text?.split(separator: " ").dropFirst().first.flatMap { Int64($0) }
        return (pages ?? 0) * Int64(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// User and system, in seconds.
    private static var ownProcessorTime: Double {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1_000_000
        }
    }
}
