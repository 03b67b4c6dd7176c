// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// `timerctl atrm`: ends jobs, all of those that are named or none.
struct Atrm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "atrm",
        abstract: "End jobs for good, as atrm(1) does: 'timerctl invalidate' by its other name."
    )

    @OptionGroup var jobs: JobSelectionArguments

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await Invalidate.end(jobs, kill: false, common)
    }
}
