// SPDX-License-Identifier: Apache-2.0

// `stat` is CoreFoundation's if any module of the program imports that, else Glibc's.
import CoreFoundation
import Glibc
package import Logging

/// The journal of systemd, if standard error leads to it: it keeps the metadata of a record as fields.
///
/// By <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>.
package struct Journal: Sendable {
    /// Where the journal takes records.
    package static let standardAddress = "/run/systemd/journal/socket"

    private let address: String

    /// Nil if `descriptor` leads elsewhere: JOURNAL_STREAM has the device and inode of the journal's stream
    /// (systemd.exec(5)).
    package init?(environment: [String: String], descriptor: Int32) {
        var file = stat()
        guard let stream = environment["JOURNAL_STREAM"], fstat(descriptor, &file) == 0,
            stream == "\(file.st_dev):\(file.st_ino)"
        else { return nil }
        self.init(address: Self.standardAddress)
    }

    init(address: String) { self.address = address }

    /// Writes the event; false if the journal did not take it, because it is too long or the journal is busy.
    package func write(_ event: LogEvent) -> Bool {
        Datagram.send(Self.record(event), to: address)
    }

    /// What a line on standard error begins with to have this level in the journal (sd-daemon(3)).
    package static func prefix(_ level: Logger.Level) -> String { "<\(priority(level))>" }

    /// The record in the format of the journal.
    ///
    /// MESSAGE has the message and all metadata, each in quotes where it could be taken for more of it; each piece of metadata
    /// is a field as well, as it is: TIMERD_JOB for `job`.
    static func record(_ event: LogEvent) -> [UInt8] {
        let metadata = (event.metadata ?? [:]).sorted { $0.key < $1.key }
        let words = metadata.map { " \($0.key)=\($0.value.inLine())" }.joined()
        var record = JournalRecord()
        record.append("PRIORITY", priority(event.level))
        record.append("SYSLOG_IDENTIFIER", "timerd")
        record.append("MESSAGE", "\(event.message)\(words)")
        for (key, value) in metadata { record.append("TIMERD_" + key.uppercased(), "\(value)") }
        return record.bytes
    }

    /// A level of syslog(3).
    private static func priority(_ level: Logger.Level) -> String {
        switch level {
        case .trace, .debug: "7"
        case .info: "6"
        case .notice: "5"
        case .warning: "4"
        case .error: "3"
        case .critical: "2"
        }
    }
}

/// A record in the format of the journal.
package struct JournalRecord: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func append(_ field: String, _ value: String) {
        append(field, Array(value.utf8))
    }

    package mutating func append(_ field: String, _ value: [UInt8]) {
        bytes += field.utf8
        if value.contains(UInt8(ascii: "\n")) {
            bytes.append(UInt8(ascii: "\n"))
            withUnsafeBytes(of: UInt64(value.count).littleEndian) { bytes += $0 }
        } else {
            bytes.append(UInt8(ascii: "="))
        }
        bytes += value
        bytes.append(UInt8(ascii: "\n"))
    }
}
