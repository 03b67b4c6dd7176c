// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import TimerControl

/// Gives tasks back whose workers are gone, in pieces: a connection may have tens of thousands of them.
extension Scheduler {
    /// Undoes reservations that nobody has heard of.
    func takeBack(_ given: [TaskReference]) {
        // The end of their connection would count them as attempts, between the pieces of this.
        untie(given)
        takeBack(given[...])
    }

    /// Takes back a piece; the next one once that is durable, behind the writes that came in between.
    private func takeBack(_ given: ArraySlice<TaskReference>) {
        guard !given.isEmpty else { return }
        // If the daemon stops, nobody waits behind this write, and no further piece could follow it.
        let count = isStopping ? given.count : Self.longWrite
        let (piece, rest) = (given.prefix(count), given.dropFirst(count))
        record { [isStopping] in
            try $0.takeBack(piece, isStopping: isStopping)
        } durable: { scheduler, _ in
            scheduler.takeBack(rest)
        } dropped: { scheduler, _ in
            // It has been logged; the leases of these end by themselves.
            scheduler.takeBack(rest)
        }
    }

    /// Has tasks go back once a connection is over.
    func tie(_ given: [TaskReference], to life: ConnectionLife) {
        if taskWaits.tie(given, to: life) { watch(life) }
    }

    /// A worker that has shut down its writing can't be told from one that is gone, and its connection ends with the
    /// last reply.
    func watch(_ life: ConnectionLife) {
        life.onSilence { [self] in
            perform { $0.connectionEnded(life) }
        }
    }

    func untie(_ given: [TaskReference]) {
        for reference in given { taskWaits.untie(reference.token) }
    }

    private func connectionEnded(_ life: ConnectionLife) {
        let (runs, waiters) = taskWaits.end(life)
        for number in waiters { taskWaitIsOver(number) }
        lose(runs[...], of: life)
    }

    /// Gives a piece of the tasks back that were tied to a connection; the next one once that is durable, behind the writes
    /// that came in between.
    private func lose(_ runs: ArraySlice<RunID>, of life: ConnectionLife) {
        // When the daemon stops every connection ends, and its workers go on: the next daemon knows their leases.
        guard !runs.isEmpty, !isStopping else { return }
        let (piece, rest) = (runs.prefix(Self.longWrite), runs.dropFirst(Self.longWrite))
        let gone = taskWaits.take(piece, of: life)
        record {
            try $0.loseConnections(gone)
        } durable: { scheduler, _ in
            scheduler.goOnLosing(rest, of: life)
        } dropped: { scheduler, _ in
            // It has been logged; the leases of these end by themselves.
            scheduler.goOnLosing(rest, of: life)
        }
    }

    private func goOnLosing(_ rest: ArraySlice<RunID>, of life: ConnectionLife) {
        // What was tied to it meanwhile.
        if rest.isEmpty { return connectionEnded(life) }
        lose(rest, of: life)
    }
}
