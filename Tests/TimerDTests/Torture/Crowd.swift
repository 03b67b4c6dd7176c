// SPDX-License-Identifier: Apache-2.0

import Foundation
import Locks
import Synchronization

@testable import TimerD

/// Connections that one daemon has to bear at once.
///
/// One thread speaks for all of them: who asks does so every three seconds, who is slow sends a byte
/// a second.
final class Crowd: Sendable {
    struct Size: CustomStringConvertible {
        var connections: Int
        /// Watchers who never read.
        var deaf: Int
        /// Clients who send a byte a second.
        var slow: Int
        /// Watchers who keep up.
        var readers: Int

        var description: String {
            "\(connections) connections, \(deaf) watch and never read, \(readers) watch,"
                + " \(slow) send a byte a second, \(connections - deaf - slow - readers) ask"
        }
    }

    struct Incomplete: Error { var connected: Int }

    let deaf: [SilentPeer]
    let readers: [SilentPeer]
    private let slow: [SilentPeer]
    private let askers: [SilentPeer]
    private let isOver = Atomic(false)
    private let isSilent = Latch()
    /// Requests and replies of those who ask.
    private let count = Locked((asked: 0, answered: 0))

    /// Connects them all; those who watch have subscribed, and the rest begins to speak.
    init(of size: Size, at socket: String) throws {
        var peers = (0..<size.connections).compactMap { _ in SilentPeer(socket) }
        guard peers.count == size.connections else { throw Incomplete(connected: peers.count) }
        func take(_ count: Int) -> [SilentPeer] {
            defer { peers.removeLast(count) }
            return peers.suffix(count)
        }
        deaf = take(size.deaf)
        readers = take(size.readers)
        slow = take(size.slow)
        askers = peers
        for peer in deaf + readers { peer.subscribe(since: 0) }
        Thread.detachNewThread { self.speak() }
    }

    /// Ends the talking, and says who was not answered.
    func leave() async -> [String] {
        isOver.store(true, ordering: .relaxed)
        await isSilent.wait()
        let (asked, answered) = count.withLock { $0 }
        return asked == answered ? [] : ["\(answered) of \(asked) requests were answered"]
    }

    func close() { for peer in deaf + readers + slow + askers { peer.close() } }

    private func speak() {
        let request = Array(#"{"jsonrpc":"2.0","id":1,"method":"daemon.status"}"# + "\n")
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var (turn, asked, answered) = (0, 0, 0)
        func hear(_ peer: SilentPeer) {
            answered += buffer[..<peer.receive(into: &buffer)].count { $0 == 10 }
        }
        // A hundred turns a second.
        while !isOver.load(ordering: .relaxed) {
            let from = turn * askers.count / 300
            for index in from..<(turn + 1) * askers.count / 300 {
                let peer = askers[index % askers.count]
                hear(peer)
                peer.send(String(request))
                asked += 1
            }
            let byte = String(request[turn / 100 % request.count])
            for index in slow.indices where index % 100 == turn % 100 { slow[index].send(byte) }
            turn += 1
            usleep(10_000)
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while answered < asked, ContinuousClock.now < deadline {
            for peer in askers { hear(peer) }
            usleep(10_000)
        }
        count.withLock { $0 = (asked, answered) }
        isSilent.open()
    }
}
