// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

@Suite("Bad input", .timeLimit(.minutes(3)))
struct BadInputTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var arguments: [String]
        var status: Int32
        /// What the one line on standard error has to name.
        var names: [String]
        var testDescription: String { arguments.joined(separator: " ") }
    }

    static let rows: [Row] = [
        Row(arguments: ["add", "--every", "0"], status: 64, names: ["--every", "'0'"]),
        Row(arguments: ["add", "--every=-1s"], status: 64, names: ["--every", "'-1s'"]),
        Row(arguments: ["add", "--every", "1e300"], status: 64, names: ["'1e300'"]),
        Row(arguments: ["add", "--every", "NaN"], status: 64, names: ["'NaN'"]),
        Row(arguments: ["add", "--in", "101y"], status: 64, names: ["--in", "'101y'"]),
        Row(
            arguments: ["add", "--every", "1h", "--misfire-limit", "3"],
            status: 64,
            names: ["--misfire-limit", "'misfire'"]
        ),
        Row(
            arguments: ["add", "--every", "1h", "--cwd", "", "--", "true"],
            status: 64,
            names: ["--cwd is ''", "an absolute path"]
        ),
        Row(
            arguments: ["queue", "reserve", "mails", "--wait", "2h"],
            status: 64,
            names: ["--wait", "'2h'"]
        ),
        Row(
            arguments: ["add", "--cron", "0 9 * * *", "--tz", ""],
            status: 64,
            names: ["--tz", "''"]
        ),
        Row(arguments: ["add", "--at", "2020-01-01"], status: 64, names: ["2020-01-01", "has"]),
        Row(arguments: ["at", "2020-01-01", "--", "x"], status: 64, names: ["2020-01-01"]),
        Row(arguments: ["add", "--cron", "99 * * * *"], status: 64, names: ["'99'"]),
        Row(arguments: ["add", "--cron", "0 0 30 2 *"], status: 64, names: ["never fires"]),
        Row(arguments: ["add", "--calendar", "foo"], status: 64, names: ["'foo'"]),
        Row(arguments: ["next", "foo"], status: 64, names: ["'foo'"]),
        Row(arguments: ["explain", "foo"], status: 64, names: ["'foo'"]),
        Row(
            arguments: ["add", "--at", "2020-01-01", "--misfire", "skip"],
            status: 64,
            names: ["2020-01-01", "passed"]
        ),
        Row(arguments: ["add", "--at", "2026-02-30 09:00"], status: 64, names: ["2026-02-30"]),
        Row(arguments: ["add", "--at", "10:60"], status: 64, names: ["10:60"]),
        Row(
            arguments: ["add", "--every", "1h", "--until", "+1min"],
            status: 64,
            names: ["never fires"]
        ),
        Row(arguments: ["add"], status: 64, names: ["--in"]),
        Row(arguments: ["add", "--in", "1s", "--every", "1s"], status: 64, names: ["--in"]),
        Row(
            arguments: ["add", "--in", "1h", "--user-info", "{nope}"],
            status: 65,
            names: ["user-info"]
        ),
        Row(arguments: ["invalidate", "4711"], status: 1, names: ["4711"]),
        Row(arguments: ["show", "4711"], status: 1, names: ["4711"]),
        Row(arguments: ["show", "--name", "nobody"], status: 1, names: ["nobody"]),
        Row(arguments: ["logs", "--run", "4711"], status: 1, names: ["4711"]),
        Row(arguments: ["pause", "x"], status: 1, names: ["'x'"]),
        Row(arguments: ["frobnicate"], status: 64, names: ["frobnicate"]),
    ]

    @Test("Each is refused with one message that names it, a status, and no harm to the daemon")
    func refused() async throws {
        try await DaemonProcess.with { daemon in
            for row in Self.rows {
                let answer = try await daemon.timerctl(row.arguments)
                #expect(answer.status == row.status, "\(row.testDescription): \(answer.errors)")
                #expect(answer.output.isEmpty, "\(row.testDescription)")
                #expect(answer.errors.hasPrefix("timerctl: ") || row.status == 64)
                for name in row.names {
                    #expect(
                        answer.errors.contains(name),
                        "\(row.testDescription): \(answer.errors)"
                    )
                }
                if row.status != 64 {
                    #expect(answer.errors.split(separator: "\n").count == 1, "\(answer.errors)")
                }
            }
            #expect(try await daemon.timerctl("list", "--all", "--json").output.isEmpty)
            #expect(try await daemon.timerctl("add", "--in", "1h").output == "1\n")
        }
    }

    @Test("What is no request gets an error, and the connection goes on")
    func lines() async throws {
        try await DaemonProcess.with { daemon in
            let peer = try RawPeer(daemon.socket)
            defer { peer.close() }
            let long = String(repeating: "x", count: Limits.line + 10)
            let rows: [(line: String, reason: String)] = [
                ("{", "parseError"), ("nonsense", "parseError"), ("[]", "invalidRequest"),
                ("17", "invalidRequest"), (long, "limitReached"),
                (#"{"jsonrpc":"1.0","id":1,"method":"job.list"}"#, "invalidRequest"),
                (#"{"jsonrpc":"2.0","id":1,"method":"job.frobnicate"}"#, "unknownMethod"),
                (
                    #"{"jsonrpc":"2.0","id":1,"method":"job.get","params":{"id":"one"}}"#,
                    "invalidParams"
                ),
                (
                    #"{"jsonrpc":"2.0","id":1,"method":"job.get","params":{"id":1,"color":2}}"#,
                    "invalidParams"
                ),
                (
                    #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"schedule":{"every":5}}}"#,
                    "invalidParams"
                ),
                (#"{"jsonrpc":"2.0","id":1,"method":"job.get","params":{"id":99}}"#, "notFound"),
            ]
            for row in rows {
                let reply = try JSONValue(parsing: peer.ask(row.line))
                let reason = reply["error"]?["data"]?["reason"]
                #expect(
                    reason == .string(row.reason),
                    "\(row.line.prefix(90)): \(reply.jsonText.prefix(200))"
                )
            }
            let alive = try JSONValue(
                parsing: peer.ask(#"{"jsonrpc":"2.0","id":2,"method":"job.list"}"#)
            )
            #expect(alive["result"]?["jobs"] == .array([]))
        }
    }

    @Test("Without a daemon timerctl ends with 69, and names the socket")
    func noDaemon() async throws {
        let daemon = DaemonProcess(folder: "/tmp/timerd-none")
        let answer = try await daemon.timerctl("list")
        #expect(answer.status == 69)
        #expect(answer.errors.contains("/tmp/timerd-none/timerd.sock"))
    }

    @Test("A database that cannot be ours is refused with its path, and left as it was")
    func badDatabases() async throws {
        let folder = "/tmp/timerd-\(UUID().uuidString.prefix(13))"
        let files = FileManager.default
        try files.createDirectory(
            atPath: folder + "/directory.db",
            withIntermediateDirectories: true
        )
        defer { removeFolder(folder) }
        try Data("this is a letter to my aunt, and no database\n".utf8).write(
            to: URL(filePath: folder + "/letter.db")
        )
        let other = try Database(path: folder + "/new.db", mode: .readWriteCreate)
        try other.execute("PRAGMA user_version = 9999; CREATE TABLE t (a)")
        other.close()
        for name in ["directory.db", "letter.db", "new.db"] {
            let daemon = DaemonProcess(folder: folder)
            let before = files.contents(atPath: "\(folder)/\(name)")
            let refused = await #expect(throws: DaemonProcess.NotReady.self) {
                try await daemon.start(["--database", "\(folder)/\(name)"])
            }
            #expect(refused?.log.contains(name) == true, "\(refused?.log ?? "")")
            #expect(refused?.log.split(separator: "\n").count == 1, "\(refused?.log ?? "")")
            #expect(files.contents(atPath: "\(folder)/\(name)") == before)
        }
    }
}

/// A client that writes what it likes: lines out, lines in.
final class RawPeer {
    private let descriptor: Int32
    private var pending: [UInt8] = []

    struct Failure: Error { var what: String }

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        guard result == 0 else { throw Failure(what: "connect: \(errno)") }
        // No reply within a minute is a failure, not a wait for ever.
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_RCVTIMEO,
            &limit,
            socklen_t(MemoryLayout<timeval>.size)
        )
    }

    func close() { _ = Glibc.close(descriptor) }

    func send(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(what: "write: \(errno)") }
            rest = rest.dropFirst(count)
        }
    }

    /// The next line, without its end.
    func line() throws -> String {
        while true {
            if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                defer { pending.removeFirst(end + 1) }
                return String(decoding: pending[..<end], as: UTF8.self)
            }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { throw Failure(what: "read: \(count), \(errno)") }
            pending += buffer[..<count]
        }
    }

    func ask(_ text: String) throws -> String {
        try send(text + "\n")
        return try line()
    }
}
