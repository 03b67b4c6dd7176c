// SPDX-License-Identifier: Apache-2.0

import CoreFoundation
import Glibc
import Logging
import Testing

@testable import LinuxSystem
@testable import TimerD

@Suite("Journal", .timeLimit(.minutes(1))) struct JournalTests {
    private func event(_ message: Logger.Message, _ metadata: Logger.Metadata) -> LogEvent {
        LogEvent(
            level: .notice,
            message: message,
            metadata: metadata,
            source: nil,
            file: #file,
            function: #function,
            line: #line
        )
    }

    @Test("A record has its message, its priority and a field for each of its metadata")
    func record() {
        let record = Journal.record(
            event("a run failed", ["job": "3", "run": "17", "owner": "1000"])
        )
        #expect(
            String(decoding: record, as: UTF8.self) == """
                PRIORITY=5
                SYSLOG_IDENTIFIER=timerd
                MESSAGE=a run failed job=3 owner=1000 run=17
                TIMERD_JOB=3
                TIMERD_OWNER=1000
                TIMERD_RUN=17

                """
        )
    }

    @Test("A value of several lines is told with its length, and so makes no field of its own")
    func lines() {
        let record = Journal.record(event("slip", ["error": "no\nPRIORITY=0"]))
        let length: [UInt8] = [13, 0, 0, 0, 0, 0, 0, 0]
        let field = Array("TIMERD_ERROR\n".utf8) + length + Array("no\nPRIORITY=0\n".utf8)
        #expect(record.suffix(field.count).elementsEqual(field))
        #expect(record.contains(Array(#"MESSAGE=slip error="no\nPRIORITY=0""#.utf8) + [10]))
    }

    @Test("A name that looks like other values is quoted in the message, and not in its field")
    func quotes() {
        let name = #"x outcome=exit 0 [timerd] "y""#
        let record = Journal.record(event("a run failed", ["name": "\(name)", "run": "17"]))
        #expect(
            String(decoding: record, as: UTF8.self) == """
                PRIORITY=5
                SYSLOG_IDENTIFIER=timerd
                MESSAGE=a run failed name="x outcome=exit 0 [timerd] \\"y\\"" run=17
                TIMERD_NAME=\(name)
                TIMERD_RUN=17

                """
        )
    }

    @Test("It is there where standard error leads to it, and not where only its variable does")
    func stream() throws {
        var file = stat()
        let pipe = try #require(Pipe())
        fstat(pipe.end, &file)
        let ours = "\(file.st_dev):\(file.st_ino)"
        #expect(Journal(environment: ["JOURNAL_STREAM": ours], descriptor: pipe.end) != nil)
        #expect(Journal(environment: ["JOURNAL_STREAM": "1:1"], descriptor: pipe.end) == nil)
        #expect(Journal(environment: [:], descriptor: pipe.end) == nil)
    }

    @Test("What it does not take is told, so that it is not lost")
    func refused() {
        #expect(!Journal(address: "/no/such/journal").write(event("lost?", [:])))
    }

    @Test("What it takes arrives as one datagram")
    func taken() throws {
        let listener = try NotifySocket(isAbstract: true)
        #expect(Journal(address: listener.address).write(event("kept", [:])))
        #expect(listener.receive()?.contains("MESSAGE=kept\n") == true)
    }
}

/// The end of a pipe that nobody reads.
private final class Pipe {
    let end: Int32
    private let other: Int32

    init?() {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return nil }
        (other, end) = (ends[0], ends[1])
    }

    deinit {
        close(end)
        close(other)
    }
}
