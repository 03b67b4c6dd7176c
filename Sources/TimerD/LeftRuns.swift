// SPDX-License-Identifier: Apache-2.0

import Logging
import Schedules
import SystemPackage
import TimerControl

/// The runs that a node has left behind that leads no more: another node has told their end, as interrupted, and may have
/// begun them anew.
struct LeftRuns {
    /// Where the runner of this node listens.
    let socket: String
    let log: Logger

    /// Ends them, each by the rules of its run as far as they are known here; does nothing where no runner is left.
    func end() async {
        let loop: EpollLoop
        do throws(SystemError) {
            loop = try EpollLoop()
        } catch {
            return log.error(
                "runs that were left behind are not ended",
                metadata: ["error": "\(error)"]
            )
        }
        var program = RunnerProgram(socket: socket)
        program.starts = false
        let runner = ProgramRunner(on: loop) {
            SystemClock.read().wall.microseconds
        } connect: { [program] () throws(RunnerUnreachable) in
            try program.connect()
        }
        do {
            let known = try await runner.attach { _ in }
            let going = known.runs.filter { $0.value.phase != .ended }
            for run in going.keys.sorted() {
                log.notice("a run is ended, as another node leads", metadata: ["run": "\(run)"])
                runner.stop(run, by: .standard)
            }
            // Nobody else will ask for their ends.
            for run in known.runs.keys { runner.stored(run) }
        } catch {
            log.debug("no runs were left behind", metadata: ["reason": "\(error)"])
        }
        await runner.detach()
        await loop.stop()
    }
}
