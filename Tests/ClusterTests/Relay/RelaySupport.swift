// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Platform

@testable import Cluster

/// What a test could not do with a socket or thread.
struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Waits for what other threads do, for 60 s at most; false where it did not come.
func waits(until isThere: () -> Bool) -> Bool {
    let end = Fence.now() + 60_000_000
    while !isThere() {
        guard Fence.now() < end else { return false }
        usleep(1000)
    }
    return true
}

/// A Unix socket that listens in a folder of its own.
final class TestListener: Sendable {
    let path: String
    let descriptor: Int32
    private let folder: String

    init() throws {
        var name = Array("/tmp/timerd-relay-XXXXXX".utf8CString)
        guard mkdtemp(&name) != nil else { throw TestFailure("no folder") }
        folder = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = folder + "/socket"
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = socket(AF_UNIX, type, 0)
        let isBound = withAddress(of: path) { bind(descriptor, $0, $1) == 0 }
        guard isBound, listen(descriptor, 1024) == 0 else { throw TestFailure("no listener") }
    }

    deinit {
        close(descriptor)
        unlink(path)
        rmdir(folder)
    }
}

private func withAddress<Result>(
    of path: String,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
}

/// One end of a connection, which blocks, for 60 s at most at a time.
final class TestEnd: Sendable {
    private let descriptor: Int32
    private let isClosed = Locked(false)

    init(connectedTo path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard withAddress(of: path, { connect(descriptor, $0, $1) == 0 }) else {
            throw TestFailure("cannot connect: \(errno)")
        }
        limitWaits()
    }

    init(taking descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFL, 0)
        limitWaits()
    }

    deinit { end() }

    private func limitWaits() {
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
    }

    /// False where the other end is closed, or takes nothing for 60 s.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    @discardableResult
    func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// All of what comes next is sent already.
    func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// What comes next; empty at the end, nil where nothing comes in time.
    func read(most: Int = 1 << 16) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: most)
        let count = recv(descriptor, &bytes, most, 0)
        // A reset ends it as well.
        if count < 0 { return errno == ECONNRESET ? [] : nil }
        return Array(bytes[..<count])
    }

    /// That many bytes, or fewer where it ends before.
    func read(exactly count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let more = read(most: count - bytes.count) else { return nil }
            if more.isEmpty { break }
            bytes += more
        }
        return bytes
    }

    /// What comes up to the end; nil where that does not come in time.
    func readAll() -> [UInt8]? {
        var bytes: [UInt8] = []
        while true {
            guard let more = read() else { return nil }
            if more.isEmpty { return bytes }
            bytes += more
        }
    }

    func readAllText() -> String? { readAll().map { String(decoding: $0, as: UTF8.self) } }

    func end() {
        isClosed.withLock { isClosed in
            if !isClosed { close(descriptor) }
            isClosed = true
        }
    }
}

/// What the daemon of a node that leads would do with connections: takes them, and does one thing with each.
final class TestDaemon: Sendable {
    private struct State {
        var peers: [RelayedPeer] = []
        var served = 0
    }

    private let state = Locked(State())
    private let serveOne: @Sendable (TestEnd) -> Void

    /// Serves each connection on a thread of its own, and closes it.
    init(_ serve: @escaping @Sendable (TestEnd) -> Void) { serveOne = serve }

    static func echo() -> TestDaemon {
        TestDaemon { end in
            while let bytes = end.read(), !bytes.isEmpty, end.write(bytes) {}
        }
    }

    var peers: [RelayedPeer] { state.withLock { $0.peers } }
    /// How many connections are over.
    var served: Int { state.withLock { $0.served } }

    var adopt: @Sendable (Int32, RelayedPeer) -> Void {
        { descriptor, peer in
            let end = TestEnd(taking: descriptor)
            self.state.withLock { $0.peers.append(peer) }
            // try?: a test without threads fails by what it waits for.
            try? SystemThread.start(named: "test-daemon") {
                self.serveOne(end)
                end.end()
                self.state.withLock { $0.served += 1 }
            }
        }
    }
}

/// Runs a body on a thread of its own; `wait` answers what it has returned.
final class TestThread<Result: Sendable>: Sendable {
    private let result = Monitor<Result?>(nil)

    init(_ body: @escaping @Sendable () -> Result) throws {
        try SystemThread.start(named: "test") { [result] in
            let value = body()
            result.withLock { $0 = value }
            result.wakeAll()
        }
    }

    func wait() -> Result { result.wait { $0.map { .found($0) } ?? .wait(until: nil) } }
}
