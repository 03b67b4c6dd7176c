// SPDX-License-Identifier: Apache-2.0

import Glibc

extension ProcessIdentity {
    /// Ends it and all of its process group.
    ///
    /// - Returns: the processes that could not be ended.
    func end(
        _ group: ProcessGroup,
        by teardown: Teardown,
        on threads: BlockingThreads
    ) async -> [pid_t] {
        for step in teardown.signals where lives {
            let answer = await group.onThread(threads) { lives ? group.send(step.signal) : .gone }
            if answer == .refused { continue }
            await ProcessStatus.wait(atMost: step.grace) { !lives }
        }
        guard !lives else { return [pid] }
        return await group.endSurvivors(by: teardown, on: threads)
    }
}
