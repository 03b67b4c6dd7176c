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
        Event, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark,
        ReadingGate
    >

    private let producer: Producer

    init(_ producer: Producer) { self.producer = producer }

    public func makeAsyncIterator() -> Iterator { Iterator(producer.makeAsyncIterator()) }

    public struct Iterator: AsyncIteratorProtocol {
        private let iterator: Producer.AsyncIterator

        init(_ iterator: Producer.AsyncIterator) { self.iterator = iterator }

        public mutating func next() async throws -> Event? { try await iterator.next() }
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
