// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Locks
import Logging
import TimerControl
import TimerD
import TimerWords

/// The lowest level that is logged, by all loggers that share it; may be changed at any time.
final class LogThreshold: Sendable {
    private let state: Locked<Logger.Level>

    init(_ level: Logger.Level) { state = Locked(level) }

    var level: Logger.Level {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// Logs to standard error, or the journal behind it, from a level that all such loggers share; never waits for who reads that.
struct AdjustableLog: LogHandler {
    private let label: String
    private let threshold: LogThreshold
    private let journal: Journal?
    var metadata = Logger.Metadata()

    init(label: String, threshold: LogThreshold, journal: Journal?) {
        self.label = label
        self.journal = journal
        self.threshold = threshold
    }

    var logLevel: Logger.Level {
        get { threshold.level }
        set { threshold.level = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        // The journal makes what it shows harmless itself, and keeps it as it was.
        if journal?.write(event) == true { return }
        let owner = event.metadata?["owner"].flatMap { UInt32($0.description) }
        var output = StreamLogHandler(label: label, stream: RecordsAbout(user: owner))
        output.metadata = metadata
        var event = event
        event.message = "\(HiddenCharacters.escaped(event.message.description))"
        // On one line, without what would colour, hide or reorder it on a terminal.
        event.metadata = event.metadata?.mapValues { $0.inLine(HiddenCharacters.escaped) }
        output.log(event: event)
    }
}

/// The records about a user, or the daemon's own, on their way to standard error.
private struct RecordsAbout: TextOutputStream {
    let user: UInt32?

    func write(_ record: String) { RecordQueue.standardError.write(record, about: user) }
}
