// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// What became of a fire, in words, and in the colour of that.
struct RunSentence {
    var text: String
    /// Red for what went wrong, yellow for what did not take place.
    var style: Terminal.Style?

    /// `besides`: the run in progress that kept a skipped date from firing.
    init(_ run: Run, dates: LocalDate, besides: RunID? = nil) {
        var words = RunWords(run, dates)
        words.besides = besides
        text = words.sentence
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
