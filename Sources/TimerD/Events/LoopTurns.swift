// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Glibc
import NIOCore
import NIOPosix

/// Work of the event loop that is done in parts; on the event loop.
protocol LoopWork: AnyObject {
    /// Does as much as `LoopTurns.hasLeft` allows, and asks for another turn if there is more.
    func goOn()
}

/// Bounds what is done on the event loop before it looks at its sockets again.
///
/// The loop runs all tasks that are due before it looks at any socket, and on a busy machine a task that was to
/// wait is due at once. So what is left over is done when a byte comes from a socket of its own: one turn for all who
/// have more to do, users in turn, and the events of each as one user more.
final class LoopTurns: Sendable {
    /// What is done in one turn, counted in lines with requests: one or two milliseconds' work.
    static let linesPerTurn = 64
    /// What one of those who wait does of that, before it is another's turn.
    private static let linesAtOnce = 16

    /// Whose turn it is.
    enum Turn: Hashable {
        /// The requests of a user's connections.
        case requests(of: UInt32)
        /// The events for a user's watchers.
        case events(of: UInt32)
        /// Events that have come, for all who watch.
        case newEvents
    }

    /// Weak: whoever is gone has nothing to do.
    private struct Waiting {
        weak var work: (any LoopWork)?
    }

    private struct State {
        /// What may still be done before the next turn.
        var left = LoopTurns.linesPerTurn
        /// Those who wait, by whose turn they wait for; no queue is empty.
        var waiting: [Turn: Deque<Waiting>] = [:]
        /// What they wait for; the next turn comes first.
        var order: Deque<Turn> = []
        /// Whether a turn is to come, or under way.
        var isArmed = false

        mutating func next() -> Waiting? {
            guard let turn = order.popFirst(), let first = waiting[turn]?.popFirst() else {
                return nil
            }
            if waiting[turn]?.isEmpty == true {
                waiting[turn] = nil
            } else {
                order.append(turn)
            }
            return first
        }
    }

    private let loop: any EventLoop
    private let state: NIOLoopBoundBox<State>
    /// Where the byte is written that comes back; -1 if there was no descriptor.
    private let bell: Int32

    init(_ loop: any EventLoop) {
        self.loop = loop
        state = NIOLoopBoundBox.makeBoxSendingValue(State(), as: State.self, eventLoop: loop)
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            bell = -1
            return
        }
        bell = ends[0]
        // One that the loop does not take is closed, as are all when the loop ends.
        _ = ClientBootstrap(group: loop)
            .channelInitializer { [weak self] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(BellHandler(self))
                }
            }
            .withConnectedSocket(ends[1])
    }

    deinit { if bell >= 0 { close(bell) } }

    /// Whether something may still be done before the next turn.
    var hasLeft: Bool { state.value.left > 0 }

    /// Notes that as much was done as takes the time of `lines` lines.
    func spend(_ lines: Int = 1) { state.value.left -= lines }

    /// Has `work` go on at that turn.
    func add(_ work: any LoopWork, at turn: Turn) {
        if state.value.waiting[turn] == nil { state.value.order.append(turn) }
        state.value.waiting[turn, default: []].append(Waiting(work: work))
        if !state.value.isArmed { arm() }
    }

    private func arm() {
        state.value.isArmed = true
        var byte: UInt8 = 0
        guard bell < 0 || send(bell, &byte, 1, Int32(MSG_NOSIGNAL)) < 1 else { return }
        // Next best: the loop mostly looks at its sockets before that.
        loop.assumeIsolated().scheduleTask(in: .microseconds(100)) { self.run() }
    }

    fileprivate func run() {
        var rest = Self.linesPerTurn
        while rest > 0, let next = state.value.next() {
            let part = min(rest, Self.linesAtOnce)
            state.value.left = part
            next.work?.goOn()
            rest -= max(part - state.value.left, 1)
        }
        if state.value.order.isEmpty {
            state.value.isArmed = false
            state.value.left = Self.linesPerTurn
        } else {
            state.value.left = 0
            arm()
        }
    }
}

/// Begins a turn whenever a byte has come.
private final class BellHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private weak let turns: LoopTurns?

    init(_ turns: LoopTurns?) { self.turns = turns }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { turns?.run() }
}
