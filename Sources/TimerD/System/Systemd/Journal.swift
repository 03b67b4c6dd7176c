// SPDX-License-Identifier: Apache-2.0

// `stat` is CoreFoundation's if any module of the program imports that, else Glibc's.
import CoreFoundation
import Glibc
public import Logging

/// The journal of systemd, if standard error leads to it: it keeps the metadata of a record as fields.
///
/// By <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>.
public struct Journal: Sendable {
    private let address: String

    /// Nil if `descriptor` leads elsewhere: JOURNAL_STREAM has the device and inode of the journal's stream
    /// (systemd.exec(5)).
    public init?(environment: [String: String], descriptor: Int32) {
        var file = stat()
        guard let stream = environment["JOURNAL_STREAM"], fstat(descriptor, &file) == 0,
            stream == "\(file.st_dev):\(file.st_ino)"
        else { return nil }
        self.init(address: "/run/systemd/journal/socket")
    }

    init(address: String) { self.address = address }

    /// Writes the event; false if the journal did not take it, because it is too long or the journal is busy.
    public func write(_ event: LogEvent) -> Bool {
        Datagram.send(Self.record(event), to: address)
    }

    /// The record in the format of the journal.
    ///
    /// MESSAGE has the message and all metadata; each piece of metadata is a field as well: TIMERD_JOB for
    /// `job`.
    static func record(_ event: LogEvent) -> [UInt8] {
        let metadata = (event.metadata ?? [:]).sorted { $0.key < $1.key }
        let words = metadata.map { " \($0.key)=\($0.value)" }.joined()
        var record: [UInt8] = []
        append("PRIORITY", priority(event.level), to: &record)
        append("SYSLOG_IDENTIFIER", "timerd", to: &record)
        append("MESSAGE", "\(event.message)\(words)", to: &record)
        for (key, value) in metadata {
            append("TIMERD_" + key.uppercased(), "\(value)", to: &record)
        }
        return record
    }

    private static func append(_ field: String, _ value: String, to record: inout [UInt8]) {
        record += field.utf8
        if value.utf8.contains(UInt8(ascii: "\n")) {
            record.append(UInt8(ascii: "\n"))
            withUnsafeBytes(of: UInt64(value.utf8.count).littleEndian) { record += $0 }
        } else {
            record.append(UInt8(ascii: "="))
        }
        record += value.utf8
        record.append(UInt8(ascii: "\n"))
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
