// SPDX-License-Identifier: Apache-2.0

import CLinux

/// Makes the allocator return freed memory to the system.
///
/// Else the memory that one long request took would stay taken, for each thread.
enum MemoryReturn {
    /// Call it before there are threads.
    static func begin() {
        // Memory is often freed on another thread than took it. With an arena for each thread, the largest
        // sizes of all arenas would add up.
        mallopt(M_ARENA_MAX, 2)
        // Setting them keeps them fixed: else freeing one page of a list raises both, up to 32 and 64 MiB.
        mallopt(M_MMAP_THRESHOLD, 131_072)
        mallopt(M_TRIM_THRESHOLD, 131_072)
    }
}
