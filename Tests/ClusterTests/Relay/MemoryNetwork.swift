// SPDX-License-Identifier: Apache-2.0

import Locks

@testable import Cluster

/// Carriers in memory, which may lose messages, keep them back and break.
final class MemoryNetwork: Sendable {
    struct State {
        var carriers: [String: MemoryCarrier] = [:]
        /// Nothing is handed on; it stays in `kept`.
        var keeps = false
        var kept: [(payload: String, node: String)] = []
        /// Loses what has it; of the sent messages in their order.
        var loses: (@Sendable (NodeMessage, String) -> Bool)?
        var lost = 0
        /// Bytes of a connection that may be sent, by its link, number and receiver.
        var credit: [String: Int] = [:]
        var mostCredit = 0
        var mostCreditOfAll = 0
        /// Bytes of connections that were sent, by their receiver.
        var bytes: [String: Int] = [:]
        /// More was sent than the receiver had allowed.
        var isOverdrawn = false
        var messages: [NodeMessage] = []
    }

    let state = Locked(State())

    func carrier(_ node: String) -> MemoryCarrier {
        let carrier = MemoryCarrier(network: self)
        state.withLock { $0.carriers[node] = carrier }
        return carrier
    }

    /// Keeps back what is sent from now on, until `release`.
    func keep() { state.withLock { $0.keeps = true } }

    func release() {
        state.withLock { state in
            state.keeps = false
            let kept = state.kept
            state.kept = []
            for (payload, node) in kept { Self.deliver(payload, node, &state) }
        }
    }

    func lose(_ loses: (@Sendable (NodeMessage, String) -> Bool)?) {
        state.withLock { $0.loses = loses }
    }

    var lost: Int { state.withLock { $0.lost } }
    /// The most that one connection was allowed in one direction.
    var mostCredit: Int { state.withLock { $0.mostCredit } }
    /// The most that all of them were together, of those that are not over.
    var mostCreditOfAll: Int { state.withLock { $0.mostCreditOfAll } }
    func bytes(to node: String) -> Int { state.withLock { $0.bytes[node, default: 0] } }
    var isOverdrawn: Bool { state.withLock { $0.isOverdrawn } }
    /// Whether a connection has sent all that it may.
    var isSpent: Bool { state.withLock { $0.credit.values.contains(0) } }

    /// The session of a node with PostgreSQL breaks; what is under way to it is lost.
    func breakSession(of node: String, reason: String = "the server has gone") {
        state.withLock { state in
            state.kept.removeAll { $0.node == node }
            state.carriers[node]?.isConnected.withLock { $0 = false }
            state.carriers[node]?.tell(.broken(reason: reason))
        }
    }

    func connect(_ node: String) {
        state.withLock { state in
            state.carriers[node]?.isConnected.withLock { $0 = true }
            state.carriers[node]?.tell(.connected)
        }
    }

    /// Puts a payload on its way, as a node or anybody else might.
    func send(_ payload: String, to node: String) {
        state.withLock { state in
            if let message = try? NodeMessage(payload: payload) {
                Self.count(message, to: node, &state)
                if state.loses?(message, node) == true {
                    state.lost += 1
                    return
                }
            }
            if state.keeps {
                state.kept.append((payload, node))
            } else {
                Self.deliver(payload, node, &state)
            }
        }
    }

    private static func deliver(_ payload: String, _ node: String, _ state: inout State) {
        guard let carrier = state.carriers[node], carrier.isConnected.withLock({ $0 })
        else { return }
        carrier.tell(.received(payload))
    }

    private static func count(_ message: NodeMessage, to node: String, _ state: inout State) {
        state.messages.append(message)
        if state.messages.count > 100 { state.messages.removeFirst() }
        func key(_ number: UInt32, to receiver: String) -> String {
            "\(message.link) \(number) to \(receiver)"
        }
        for frame in message.frames {
            switch frame {
            case .open(let number, _, _):
                state.credit[key(number, to: message.sender)] = RelayedStream.least
            case .data(let number, let bytes):
                let left = state.credit[key(number, to: node), default: 0] - bytes.count
                state.credit[key(number, to: node)] = left
                if left < 0 { state.isOverdrawn = true }
                state.bytes[node, default: 0] += bytes.count
            case .taken(let number, let count):
                let credit = state.credit[key(number, to: message.sender), default: 0] + Int(count)
                state.credit[key(number, to: message.sender)] = credit
                state.mostCredit = max(state.mostCredit, credit)
                state.mostCreditOfAll = max(
                    state.mostCreditOfAll,
                    state.credit.values.reduce(0, +)
                )
            case .close(let number, _), .finished(let number):
                state.credit[key(number, to: node)] = nil
            default: break
            }
        }
    }
}

final class MemoryCarrier: NodeCarrier {
    private struct Listener {
        var tell: (@Sendable (CarrierEvent) -> Void)?
    }

    private let network: MemoryNetwork
    private let listener = Locked(Listener())
    let isConnected = Locked(false)
    /// What it says that it has not sent.
    let pretendedUnsent = Locked(0)

    init(network: MemoryNetwork) { self.network = network }

    func start(_ tell: @escaping @Sendable (CarrierEvent) -> Void) {
        listener.withLock { $0.tell = tell }
    }

    func tell(_ event: CarrierEvent) {
        let listener = listener.withLock { $0 }
        listener.tell?(event)
    }

    func send(_ payload: String, to node: String) {
        guard isConnected.withLock({ $0 }) else { return }
        network.send(payload, to: node)
    }

    var unsent: Int { pretendedUnsent.withLock { $0 } }

    func stop() { isConnected.withLock { $0 = false } }
}
