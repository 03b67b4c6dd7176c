// SPDX-License-Identifier: Apache-2.0

import Locks
import Logging

/// What was logged: message and metadata, a line each.
final class RecordedLog: Sendable {
    private let lines = Locked<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let words = (event.metadata ?? [:]).sorted { $0.key < $1.key }
                .map { " \($0.key)=\($0.value)" }
            log.lines.withLock { $0.append(event.message.description + words.joined()) }
        }
    }
}
