// SPDX-License-Identifier: Apache-2.0

import DequeModule
import TimerControl

/// Fires that have got what they waited for, and whether they are being begun.
///
/// One that begins may give its place back at once, which serves the next: not one within the other, they may be many.
struct ServedFires {
    private var line: Deque<FireID> = []
    private var isBeginning = false

    mutating func append(_ fires: [FireID]) { line += fires }

    /// Whether the caller is to begin what `next` returns, until that is nil; false while another caller does.
    mutating func begin() -> Bool {
        guard !isBeginning else { return false }
        isBeginning = true
        return true
    }

    mutating func next() -> FireID? {
        guard let fire = line.popFirst() else {
            isBeginning = false
            return nil
        }
        return fire
    }
}
