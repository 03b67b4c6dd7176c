// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// `run.output`: what the command wrote to both streams, as far as it is kept.
public struct OutputReply: Codable, Hashable, Sendable {
    public var run: RunID
    /// Whether more may come: the run is in progress, or about to start.
    public var running: Bool
    /// In the order in which they came.
    public var chunks: [Chunk]
    /// Whether there is more behind these than fits into one reply; nil if not.
    public var more: Bool?
    public var stdout: Total
    public var stderr: Total

    public init(
        run: RunID,
        running: Bool,
        chunks: [Chunk] = [],
        more: Bool? = nil,
        stdout: Total = Total(),
        stderr: Total = Total()
    ) {
        self.run = run
        self.running = running
        self.chunks = chunks
        self.more = more
        self.stdout = stdout
        self.stderr = stderr
    }

    /// Bytes of one stream that came together, or nearly so.
    public struct Chunk: Codable, Hashable, Sendable {
        public var stream: StandardStream
        /// When the first of them came.
        public var at: Timestamp
        /// Where they begin, counted from the stream's beginning: behind the chunk of the stream before, or further on
        /// where bytes in between are not kept.
        public var offset: Int64
        /// The bytes as text, if they are UTF-8; else `base64` holds them.
        public var text: String?
        public var base64: String?

        public init(
            stream: StandardStream,
            at: Timestamp,
            offset: Int64,
            text: String?,
            base64: String? = nil
        ) {
            self.stream = stream
            self.at = at
            self.offset = offset
            self.text = text
            self.base64 = base64
        }

        /// What the command wrote; empty where `base64` is none.
        public var bytes: [UInt8] {
            if let text { return Array(text.utf8) }
            return base64.flatMap { Base64.decoded($0) } ?? []
        }
    }

    /// A stream as a whole.
    public struct Total: Codable, Hashable, Sendable {
        /// How many bytes the run has written.
        public var bytes: Int64
        /// How many of them are not kept.
        public var dropped: Int64

        public init(bytes: Int64 = 0, dropped: Int64 = 0) {
            self.bytes = bytes
            self.dropped = dropped
        }
    }
}
