// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// Who is told of what becomes of a job: options of `add`.
struct NoticeOptions: ParsableArguments {
    @Option(.notify) var notify: [StatedOption] = []
    @Option(.notifyOn) var notifyOn: [StatedOption] = []
    @Option(.notifyLate) var notifyLate: StatedOption?
    @Option(.notifyEvery) var notifyEvery: StatedOption?
    @Option(.ping) var ping: StatedOption?

    var stated: [StatedOption] {
        notify + notifyOn + [notifyLate, notifyEvery, ping].compactMap(\.self)
    }
}
