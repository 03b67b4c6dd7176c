// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSpawn
import Foundation
import Glibc
import SystemPackage
import Testing

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

/// A runner of a test's own, and the connections of daemons to it.
///
/// Used by one test, one call after the other.
final class RunnerProcess {
    let pid: pid_t
    let folder: TemporaryFolder
    /// Where it listens.
    let path: String

    /// Begins one in `folder`, that of another runner, in whose place it comes, if there is one; `command` runs it.
    init(
        _ arguments: String...,
        in folder: TemporaryFolder? = nil,
        through command: [String] = []
    ) throws {
        let folder = try folder ?? TemporaryFolder()
        self.folder = folder
        path = folder.path + "/runner"
        unlink(path)
        let listener = try Self.socket(path) { bind($0, $1, $2) }
        defer { Glibc.close(listener) }
        listen(listener, 8)
        let program = DaemonProcess.programs + "/timerd-runner"
        var words: [UnsafeMutablePointer<CChar>?] =
            (command + [program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { Glibc.close(null) }
        var pid: Int32 = 0
        let error = cspawn_program(command.first ?? program, &words, null, listener, 0, &pid)
        guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EIO) }
        self.pid = pid
    }

    /// Ends it, unless a test has done so.
    ///
    /// Root's share a place of the machine's for credentials, and clear it up if they may end by themselves.
    deinit {
        if geteuid() == 0, access("/run/timerd/credentials", F_OK) == 0 {
            kill(pid, SIGTERM)
            var ended = pollfd(fd: pidfd_open(pid, 0), events: Int16(POLLIN), revents: 0)
            if ended.fd >= 0 {
                poll(&ended, 1, 1000)
                Glibc.close(ended.fd)
            }
        }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    /// A daemon that has said hello.
    func connect(version: UInt32 = RunnerProtocol.current.version) throws -> RunnerPeer {
        let peer = try RunnerPeer(path: path)
        try peer.send(.hello(version: version))
        return peer
    }

    /// Whether it has never had more memory than such a runner needs; a sanitizer's own is not told apart.
    var hasStayedSmall: Bool { get throws { try Machine.isSlow || peakKilobytes < 8 << 10 } }

    /// The most memory that it had so far.
    private var peakKilobytes: Int {
        get throws {
            let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") }
            return peak.flatMap { Int($0.filter(\.isNumber)) } ?? .max
        }
    }

    /// The memory that it has now, without that of the libraries of Swift: a build for tests alone has these.
    var residentKilobytes: Int {
        get throws {
            // Not by Foundation, which reads one page of a file of /proc.
            let maps = try #require(ProcessStatus.text(at: "/proc/\(pid)/smaps"))
            var isCounted = true
            var sum = 0
            for line in maps.split(separator: "\n") {
                let words = line.split(separator: " ")
                // The first line of a mapping has its addresses, others a name with a colon.
                guard words[0].hasSuffix(":") else {
                    isCounted = !["/libswift", "/libstdc++"].contains { line.contains($0) }
                    continue
                }
                if isCounted, words[0] == "Rss:" { sum += Int(words[1]) ?? 0 }
            }
            return sum
        }
    }

    /// The exit status, once it has ended; nil if it was killed.
    func wait() -> Int32? {
        var status: CInt = 0
        waitpid(pid, &status, 0)
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }

    static func socket(
        _ path: String,
        _ attach: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) throws -> CInt {
        let descriptor = Glibc.socket(
            AF_UNIX,
            CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue),
            0
        )
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                attach(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return descriptor
    }
}

/// Waits for children of this process that nobody else waits for, from a thread of each.
///
/// A zombie that stays would be all that the tests' library sees, which waits for the processes of its exit tests.
func reap(_ pid: pid_t) {
    Thread.detachNewThread { waitpid(pid, nil, 0) }
}

/// A daemon's end of a connection.
final class RunnerPeer {
    struct Ended: Error {}
    struct TimedOut: Error {}

    private let descriptor: CInt
    private var bytes: [UInt8] = []

    /// Connects with the runner that listens there.
    init(path: String) throws {
        descriptor = try RunnerProcess.socket(path) { Glibc.connect($0, $1, $2) }
    }

    /// Takes over a connection.
    init(_ connection: FileDescriptor) { descriptor = connection.rawValue }

    deinit { close(descriptor) }

    func send(_ order: RunnerOrder) throws { try send(order.frame) }

    /// Ends all runs with SIGKILL, and with the last one the runner.
    func endAll() throws {
        try send(.hello(version: RunnerProtocol.current.version))
        var open: Set<Int64> = []
        _ = try next { report in
            if case .known(let run, _) = report { open.insert(run) }
            return if case .synced = report { true } else { nil }
        }
        for run in open { try send(.end(run: run, .kill, asRunner: true)) }
        while !open.isEmpty {
            let run = try next { if case .ended(let run, _) = $0 { run } else { nil } }
            open.remove(run)
            try send(.stored(run: run))
        }
        try send(.endAll)
        // Until it closes the connection.
        while true { _ = try next() }
    }

    /// Returns once all runs have ended; what was asked for over another connection, and not read, does not begin.
    func awaitEnds() throws {
        try send(.hello(version: RunnerProtocol.current.version))
        var open: Set<Int64> = []
        _ = try next { report in
            if case .known(let run, let known) = report, known.phase != .ended { open.insert(run) }
            return if case .synced = report { true } else { nil }
        }
        while !open.isEmpty {
            open.remove(try next { if case .ended(let run, _) = $0 { run } else { nil } })
        }
    }

    func send(_ frame: [UInt8]) throws {
        var rest = frame[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Ended() }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends `frame` again and again, `most` times at most, until nothing more is taken; returns how many were sent
    /// to their end.
    func sendWhileTaken(_ frame: [UInt8], most: Int) throws -> Int {
        let all = (0..<most).flatMap { _ in frame }
        var count = 0
        while count < all.count {
            var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard Glibc.poll(&poll, 1, 300) == 1 else { break }
            let sent = all[count...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            guard sent >= 0 || errno == EAGAIN else { throw Ended() }
            count += max(sent, 0)
        }
        return count / frame.count
    }

    /// The next report; a limit of 60 s is for a runner that says nothing.
    func next() throws -> RunnerReport {
        while true {
            if bytes.count >= 4 {
                let size = bytes.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
                if bytes.count >= 4 + size {
                    defer { bytes.removeFirst(4 + size) }
                    guard let report = RunnerReport(bytes[4..<4 + size]) else { throw Ended() }
                    return report
                }
            }
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, 60_000) == 1 else { throw TimedOut() }
            var piece = [UInt8](repeating: 0, count: 65_536)
            let count = read(descriptor, &piece, piece.count)
            guard count > 0 else { throw Ended() }
            bytes += piece.prefix(count)
        }
    }

    /// Reads up to the first report for which `wanted` is not nil.
    func next<Value>(_ wanted: (RunnerReport) -> Value?) throws -> Value {
        while true {
            if let value = wanted(try next()) { return value }
        }
    }

    /// All that comes of a run, up to its end.
    func end(of run: Int64) throws -> (end: RunnerReport.End, stdout: [UInt8], stderr: [UInt8]) {
        var stdout = OutputCapture(limit: 1 << 20)
        var stderr = OutputCapture(limit: 1 << 20)
        return try next { report in
            switch report {
            case .output(run, .stdout, _, _, let bytes):
                bytes.withUnsafeBytes { stdout.append($0) }
            case .output(run, .stderr, _, _, let bytes):
                bytes.withUnsafeBytes { stderr.append($0) }
            case .ended(run, let end): return (end, stdout.bytes, stderr.bytes)
            default: break
            }
            return nil
        }
    }
}
