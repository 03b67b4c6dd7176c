// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// What makes the fires of a job tasks for workers: options of `add`.
struct QueueOptions: ParsableArguments {
    @Option(.queue) var queue: StatedOption?
    @Option(.priority) var priority: StatedOption?
    @Option(.key) var key: StatedOption?
    @Option(.keyKept) var keyKept: StatedOption?

    var stated: [StatedOption] { [queue, priority, key, keyKept].compactMap(\.self) }
}
