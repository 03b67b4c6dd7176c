// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// What became of a fire, in words, and in the colour of that.
struct RunSentence {
    var text: String
    /// Red for what went wrong, yellow for what did not take place.
    var style: Terminal.Style?

    init(_ run: Run, dates: LocalDate) {
        text = RunWords(run, dates).sentence
        style =
            switch run.state {
            case _ where run.unread != nil: .red
            case .dead, .unreadable: .red
            case .done where run.failed == true, .queued where run.failed == true: .red
            case .skipped: .yellow
            default: nil
            }
    }
}
