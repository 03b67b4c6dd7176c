// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// How the runner knows the tries to hand a notice over.
extension StoredNotice {
    /// The number of this try for the runner: below 0, where no run of a job is, and another one for each try.
    var runNumber: Int64 {
        // Of a long id, as a restored database gives, the upper bits are cut; two of which no more differs are not under way at once.
        -1 - (id.rawValue << 16 | Int64(attempts & 0xFFFF)) & (.max >> 1)
    }

    /// The notice that such a number is of, where none of its bits are cut; nil for the number of a run.
    static func id(ofTry number: Int64) -> NoticeID? {
        number < 0 ? NoticeID(rawValue: (-1 - number) >> 16) : nil
    }
}
