// SPDX-License-Identifier: Apache-2.0

import CLinux

/// Has the allocator give back what was freed, instead of keeping it for each thread: what one long
/// request took is not to stay taken.
enum MemoryReturn {
    /// To be called before there are threads.
    static func begin() {
        // Memory is freed on other threads than took it. With an arena for each thread the most that
        // each ever held adds up.
        mallopt(M_ARENA_MAX, 2)
        // Stated, they stay: else a freed page of a list raises both, up to 32 and 64 MiB.
        mallopt(M_MMAP_THRESHOLD, 131_072)
        mallopt(M_TRIM_THRESHOLD, 131_072)
    }
}
