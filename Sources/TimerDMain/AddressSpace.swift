// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Whether there is room for the threads that the daemon starts with.
///
/// Without it a library waits for ever for a thread that cannot be made, or ends the process without a word.
enum AddressSpace {
    /// The stacks of the threads of a start, of 8 MiB each, in bytes; with 68 MiB one of them fails.
    private static let needed = 80 << 20

    /// What is wrong; nil where there is room.
    static var shortage: String? {
        if !hasRoom(PROT_NONE) {
            return sentence("the address space is", limit(RLIMIT_AS), "ulimit -v, LimitAS=")
        }
        // Stacks are data as well. Where that is not limited, it is no matter of a limit.
        let data = limit(RLIMIT_DATA)
        guard data != .max, !hasRoom(PROT_READ | PROT_WRITE) else { return nil }
        return sentence("its data are", data, "ulimit -d, LimitDATA=")
    }

    private static func hasRoom(_ protection: CInt) -> Bool {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        let room = mmap(nil, needed, protection, flags, -1, 0)
        guard room != MAP_FAILED else { return false }
        munmap(room, needed)
        return true
    }

    private static func limit(_ resource: __rlimit_resource) -> rlim_t {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(resource.rawValue), &limit)
        return limit.rlim_cur
    }

    private static func sentence(_ what: String, _ limit: rlim_t, _ setting: String) -> String {
        "too little memory: \(what) limited to \(limit >> 20) MiB (\(setting)), and "
            + "\(needed >> 20) MiB more than is in use are needed"
    }
}
