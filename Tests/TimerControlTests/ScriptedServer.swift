// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TimerControl

/// A server whose answers a test writes.
final class ScriptedServer: Sendable {
    /// What came: a method, and its parameters as JSON.
    struct Call: Hashable, Sendable {
        var method: String
        var parameters: JSONValue
    }

    enum Reply: Sendable {
        case result(JSONValue)
        case error(ControlError)
        /// An error without an id.
        case anonymous(ControlError)
        /// No answer, but a notification of this method and with these parameters.
        case notification(String, JSONValue)
        /// No answer, but so many bytes of a line that does not end.
        case endlessLine(Int)
        /// No answer, as long as the connection lasts.
        case silence
        /// The connection ends.
        case end
    }

    private struct State {
        var calls: [Call] = []
        var connections: Set<Int32> = []
        var ended: [String] = []
    }

    let path: String
    private let listener: Int32
    private let lock = NSLock()
    nonisolated(unsafe) private var state = State()
    private let answer: @Sendable (Call) -> Reply

    init(_ answer: @escaping @Sendable (Call) -> Reply) throws {
        self.answer = answer
        path = "/tmp/timerd-scripted-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0, listen(listener, 16) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread { [self] in
            while case let connection = accept(listener, nil, nil), connection >= 0 {
                lock.withLock { _ = state.connections.insert(connection) }
                Thread.detachNewThread { [self] in serve(connection) }
            }
        }
    }

    /// Ends all of it; to be called at the end of a test.
    func close() {
        unlink(path)
        shutdown(listener, Int32(SHUT_RDWR))
        dropConnections()
    }

    func dropConnections() {
        // With the lock: without it one may be closed meanwhile, and its number be another file's.
        lock.withLock {
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    var calls: [Call] { lock.withLock { state.calls } }
    var methods: [String] { calls.map(\.method) }
    /// Of each connection that has ended what was asked last.
    var ended: [String] { lock.withLock { state.ended } }

    private func serve(_ connection: Int32) {
        var last = ""
        defer {
            lock.withLock {
                state.connections.remove(connection)
                state.ended.append(last)
            }
            Glibc.close(connection)
        }
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(connection, &byte, 1) == 1 {
            guard byte == 0x0A else {
                line.append(byte)
                continue
            }
            guard let request = try? JSONValue(parsing: line),
                case .string(let method)? = request["method"]
            else { return }
            line = []
            last = method
            let call = Call(method: method, parameters: request["params"] ?? .null)
            lock.withLock { state.calls.append(call) }
            let id = request["id"] ?? .null
            let reply: [UInt8]
            switch answer(call) {
            case .result(let value): reply = ReplyLine.reply(id: id, .success(value))
            case .error(let error): reply = ReplyLine.failure(id: id, error)
            case .anonymous(let error): reply = ReplyLine.failure(id: .null, error)
            case .notification(let method, let parameters):
                let members: [String: JSONValue] = [
                    "jsonrpc": .string("2.0"), "method": .string(method), "params": parameters,
                ]
                reply = JSONValue.object(members).jsonBytes
            case .endlessLine(var rest):
                let piece = [UInt8](repeating: UInt8(ascii: "A"), count: 65_536)
                while rest > 0 {
                    let count = min(rest, piece.count)
                    let sent = send(connection, piece, count, Int32(MSG_NOSIGNAL))
                    guard sent > 0 else { return }
                    rest -= sent
                }
                continue
            case .silence: continue
            case .end: return
            }
            let bytes = reply + [0x0A]
            guard send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
            else { return }
        }
    }
}
