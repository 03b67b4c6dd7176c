// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The events of a connection that subscribed, in the order of their numbers; for one reader.
///
/// At most about a thousand wait here. Then the client stops reading its socket, also the replies to its
/// calls, and the daemon keeps the rest until there is room again.
///
/// Ends when the client is closed; throws `ClientError` when the daemon goes away, and the
/// `ControlError` of a daemon that gives the subscription up.
public struct EventStream: AsyncSequence, Sendable {
    typealias Producer = NIOThrowingAsyncSequenceProducer<
        Told, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark,
        ReadingGate
    >

    /// What a connection that subscribed is told.
    public enum Told: Sendable {
        case event(Event)
        /// Events that were asked for are no longer kept.
        case lost(EventsLost)
    }

    private let producer: Producer

    init(_ producer: Producer) { self.producer = producer }

    /// The same with the events that are lost, each where it was told: for the one reader in place of the events alone.
    public var withLosses: WithLosses { WithLosses(producer: producer) }

    public func makeAsyncIterator() -> Iterator { Iterator(told: withLosses.makeAsyncIterator()) }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var told: WithLosses.Iterator

        public mutating func next() async throws -> Event? {
            while let next = try await told.next() {
                if case .event(let event) = next { return event }
            }
            return nil
        }
    }

    public struct WithLosses: AsyncSequence, Sendable {
        fileprivate let producer: Producer

        public func makeAsyncIterator() -> Iterator {
            Iterator(iterator: producer.makeAsyncIterator())
        }

        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let iterator: Producer.AsyncIterator

            public mutating func next() async throws -> Told? { try await iterator.next() }
        }
    }
}

/// Tells a connection when its reader has taken enough events to go on.
final class ReadingGate: NIOAsyncSequenceProducerDelegate {
    private let open: @Sendable () -> Void

    /// - Parameter open: called on the reader's thread.
    init(open: @escaping @Sendable () -> Void) { self.open = open }

    func produceMore() { open() }

    /// The reader is gone; events are dropped from now on, so that replies still come through.
    func didTerminate() { open() }
}
