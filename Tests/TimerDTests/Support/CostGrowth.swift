// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How many times as much processor time `work` takes for one of `many` as for one of `few`: about 1 where each costs
/// the same, `many / few` where each is a walk through all.
///
/// By this thread's own clock, the least of three passes, so that other load changes it little.
func costGrowth(from few: Int, to many: Int, _ work: (Int) -> Void) -> Double {
    func leastTime(_ count: Int) -> Double {
        (0..<3).map { _ in
            let start = threadTime()
            work(count)
            return threadTime() - start
        }.min() ?? 0
    }
    return leastTime(many) / Double(many) / (leastTime(few) / Double(few))
}

/// In seconds.
private func threadTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
}
