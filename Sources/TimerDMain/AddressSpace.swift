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
        let room = mmap(nil, needed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard room == MAP_FAILED else {
            munmap(room, needed)
            return nil
        }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
        return "too little memory: the address space is limited to \(limit.rlim_cur >> 20) MiB"
            + " (ulimit -v, LimitAS=), and \(needed >> 20) MiB more than is in use are needed"
    }
}
