// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TimerControl
import Turns

/// Where a watcher's lines go; on the event loop.
protocol EventSink: AnyObject {
    /// Whether there is room for more; `Watcher.resume` is called when there is again.
    var isWritable: Bool { get }
    func write(_ line: ByteBuffer)
    func flush()
    /// Closes the connection, with the reason as the last line.
    func close(with error: ControlError)
}

/// Carries out what one connection's subscription decides; belongs to the event loop.
final class Watcher {
    /// How many bytes may wait unsent at a watcher's socket; a single event may have more.
    static let unsentLimit = 65_536

    private var subscription: Subscription
    private let bus: EventBus
    private let owner: Owner?
    private let source: EventSource
    private let gate: RequestGate
    let user: RequestGate.User
    private let channel: any Channel
    private weak let sink: (any EventSink)?
    /// Whether `resume` is running: flushing can make room at once, which calls it again from within.
    private var isResuming = false
    /// The number after which to read once its turn has come; nil if it waits for no turn.
    private var waitsToRead: Int64?
    /// Few watchers read pages at a time; users take turns.
    private static let load = RequestLoad(kind: .events)

    /// `owner`: the only owner whose events are sent, nil for all; `newest`: the number in the reply to the
    /// subscription; `channel`: where the sink writes to.
    init(
        _ request: Subscribe,
        owner: Owner?,
        newest: Int64,
        bus: EventBus,
        source: @escaping EventSource,
        gate: RequestGate,
        user: RequestGate.User,
        channel: any Channel,
        sink: any EventSink
    ) {
        subscription = Subscription(request, owner: owner, newest: newest)
        self.owner = owner
        self.bus = bus
        self.source = source
        (self.gate, self.user) = (gate, user)
        self.channel = channel
        self.sink = sink
    }

    /// Begins to send; to be called when the reply to the subscription has been written.
    func begin() {
        subscription.begin()
        resume()
    }

    /// Goes on where it stopped for lack of room.
    func resume() {
        guard let sink, !isResuming else { return }
        isResuming = true
        defer { isResuming = false }
        while subscription.phase == .behind, sink.isWritable {
            switch subscription.step(ring: bus.ring, newest: bus.newest) {
            case .goLive(let events):
                for event in events { receive(event) }
                sink.flush()
            case .read(let after): read(after: after)
            }
        }
    }

    /// Sends an event that has just been published, unless older ones have to come first.
    func receive(_ shared: SharedEvent) {
        guard subscription.phase == .live, let sink else { return }
        guard sink.isWritable else { return subscription.fallBehind() }
        if subscription.take(shared.event) { sink.write(shared.line) }
    }

    /// Hands over to the socket what `receive` wrote.
    func flush() { sink?.flush() }

    /// Notes that events were published that this watcher did not get.
    func fallBehind() {
        if subscription.phase == .live { subscription.fallBehind() }
    }

    /// Gives up its turn to read, if it waits for one.
    func end() {
        guard waitsToRead != nil else { return }
        waitsToRead = nil
        gate.cancel(self, Self.load.kind, of: user)
    }

    private func read(after: Int64) {
        if gate.take(Self.load, for: user, self) {
            beginReading(after: after)
        } else {
            waitsToRead = after
        }
    }

    private func beginReading(after: Int64) {
        let watcher = NIOLoopBound(self, eventLoop: bus.loop)
        Self.read(from: source, after: after, owner: owner, gate) { page in
            watcher.value.gate.end(Self.load, of: watcher.value.user)
            watcher.value.receive(page, after: after)
        }
    }

    /// Reads a page, and hands it to `receive` on the loop.
    private static func read(
        from source: @escaping EventSource,
        after: Int64,
        owner: Owner?,
        _ gate: RequestGate,
        _ receive: @escaping @Sendable (Result<EventPage, any Error>) -> Void
    ) {
        Task {
            let page = await page(from: source, after: after, owner: owner)
            gate.onLoop { receive(page) }
        }
    }

    private static func page(
        from source: EventSource,
        after: Int64,
        owner: Owner?
    ) async -> Result<EventPage, any Error> {
        do {
            return .success(try await source(after, owner, EventPage.Limit()))
        } catch {
            return .failure(error)
        }
    }

    private func receive(_ page: Result<EventPage, any Error>, after: Int64) {
        guard let sink, channel.isActive else { return }
        switch page {
        case .success(let page):
            // All of it is read again later, what was lost too: the array of a batch may be half sent.
            guard sink.isWritable else { return subscription.fallBehind() }
            if let lost = subscription.missed(by: page) {
                bus.note(lost)
                sink.write(.line(ReplyLine.eventsLost(lost)))
            }
            // Events without room are read again later.
            for event in page.events where sink.isWritable && subscription.take(event) {
                sink.write(.line(ReplyLine.event(event)))
            }
            if sink.isWritable {
                subscription.pageTaken(isLast: page.isLast)
            } else {
                subscription.fallBehind()
            }
            sink.flush()
            resume()
        case .failure(let error):
            let reason = (error as? ControlError)?.reason ?? .storageFailed
            sink.close(
                with: ControlError(reason, "cannot read the events after \(after): \(error)")
            )
        }
    }
}

extension Watcher: RequestGateClient {
    func turnCame() {
        guard let after = waitsToRead else { return }
        waitsToRead = nil
        beginReading(after: after)
    }
}
