// SPDX-License-Identifier: Apache-2.0

/// What is between this node and another: the order of the messages in both directions, and what is to be sent.
struct NodeLink {
    /// What the time asks of a link that has connections.
    enum Due: Equatable { case nothing, ping, silence }

    let node: String
    let id: UInt64
    private let sender: String
    private let room: Int
    /// The frames of the message that is being filled.
    private var frames: [UInt8] = []
    /// Messages that are full.
    private var payloads: [String] = []
    private var nextNumber: UInt64 = 1
    private var expected: UInt64 = 1
    /// In µs of the clock that the caller has.
    private var lastSent: Int64
    private var lastHeard: Int64

    init(from sender: String, to node: String, id: UInt64, at now: Int64) {
        self.sender = sender
        self.node = node
        self.id = id
        room = NodeMessage.room(for: sender)
        lastSent = now
        lastHeard = now
    }

    mutating func add(_ frame: NodeFrame) {
        let before = frames.count
        frame.append(to: &frames)
        guard frames.count > room else { return }
        let last = Array(frames[before...])
        frames.removeSubrange(before...)
        endMessage()
        frames = last
    }

    /// Adds what a connection has sent, in as many frames as it takes.
    mutating func add(data: ArraySlice<UInt8>, of connection: UInt32) {
        var rest = data
        while !rest.isEmpty {
            let free = room - frames.count - NodeFrame.dataOverhead
            // A piece of a few bytes is not worth its overhead.
            guard free >= min(rest.count, 128) else {
                endMessage()
                continue
            }
            NodeFrame.append(data: rest.prefix(free), of: connection, to: &frames)
            rest = rest.dropFirst(free)
        }
    }

    /// A message without frames: it shows that this node is there, and whether one was lost before it.
    mutating func ping() { if frames.isEmpty && payloads.isEmpty { endMessage() } }

    /// The messages to be sent, in their order.
    mutating func takePayloads(at now: Int64) -> [String] {
        if !frames.isEmpty { endMessage() }
        defer { payloads = [] }
        if !payloads.isEmpty { lastSent = now }
        return payloads
    }

    /// Notes that a message has come; false where others before it have not.
    mutating func receive(_ number: UInt64, at now: Int64) -> Bool {
        guard number == expected else { return false }
        expected += 1
        lastHeard = now
        return true
    }

    /// Begins to watch the time again, after there was nothing to tell.
    mutating func resumeWatch(at now: Int64) { (lastSent, lastHeard) = (now, now) }

    func due(at now: Int64, _ limits: RelayLimits) -> Due {
        if now - lastHeard >= limits.silence.inMicroseconds { return .silence }
        return now >= nextPing(limits) ? .ping : .nothing
    }

    /// When `due` is next to be asked.
    func nextLook(_ limits: RelayLimits) -> Int64 {
        min(lastHeard + limits.silence.inMicroseconds, nextPing(limits))
    }

    private func nextPing(_ limits: RelayLimits) -> Int64 {
        let interval = expected == 1 ? limits.firstPingInterval : limits.pingInterval
        return lastSent + interval.inMicroseconds
    }

    private mutating func endMessage() {
        payloads.append(
            NodeMessage.payload(sender: sender, link: id, number: nextNumber, frames: frames)
        )
        nextNumber += 1
        frames = []
    }
}

extension Duration {
    /// Whole µs, cut off.
    var inMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}
