// SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import LinuxSystem
@testable import TimerD

extension ProcessStatus {
    /// Every process there is; nil if /proc cannot be listed.
    static var allProcesses: [pid_t]? {
        guard let folder = opendir("/proc") else { return nil }
        defer { closedir(folder) }
        var pids: [pid_t] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { name in
                String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let pid = pid_t(name) { pids.append(pid) }
        }
        return pids
    }
}
