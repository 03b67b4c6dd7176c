// SPDX-License-Identifier: Apache-2.0

// It holds `timespec` where a module of the program imports it, and Glibc where none does.
import CLinux
import Glibc

/// The service manager that started this process, as sd_notify(3) and sd_listen_fds(3) have it.
///
/// What it says is in the environment; a daemon that nobody manages has none of it, and all calls do
/// nothing.
public struct ServiceManager: Sendable {
    /// Where it listens: a path, or a name behind "@".
    private let address: String?
    /// How often it wants to hear that the daemon is alive; nil for never.
    let watchdogInterval: Duration?
    /// The sockets that it listens on for the daemon.
    let sockets: Range<Int32>

    /// Whether there is one that wants to be told.
    var isThere: Bool { address != nil }

    /// Descriptors are handed over from this one on.
    private static let firstSocket: Int32 = 3

    /// `environment`: of a process with the number `pid`; what was meant for another is not ours.
    public init(environment: [String: String], pid: Int32) {
        func number<Number: FixedWidthInteger>(_ name: String) -> Number? {
            environment[name].flatMap { Number($0) }
        }
        func isOurs(_ name: String) -> Bool {
            guard let owner: Int32 = number(name) else { return environment[name] == nil }
            return owner == pid
        }
        address = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
        watchdogInterval =
            isOurs("WATCHDOG_PID")
            ? number("WATCHDOG_USEC").flatMap { (interval: Int64) in
                interval > 0 ? .microseconds(interval) : nil
            } : nil
        let count: Int32 = isOurs("LISTEN_PID") ? number("LISTEN_FDS") ?? 0 : 0
        sockets = Self.firstSocket..<Self.firstSocket + max(0, min(count, 1024))
    }

    /// The socket that it listens on at `path`; nil where it has none.
    ///
    /// - Throws: `SocketError` where it hands over several: one of them nobody would answer.
    func socket(for path: String) throws(SocketError) -> Int32? {
        guard sockets.count <= 1 else {
            throw SocketError(
                path,
                "the service manager handed over \(sockets.count) sockets, accepted is one"
            )
        }
        return sockets.first
    }

    enum State: Hashable, Sendable {
        case ready
        case reloading
        case stopping
        /// What goes on may take that long, whatever the manager's own limit is.
        case needs(Duration)
        /// Alive: for the watchdog.
        case alive
        /// A line for `systemctl status`.
        case status(String)

        /// As sd_notify(3) writes it; `monotonic`: µs of CLOCK_MONOTONIC, which a reload tells.
        func text(monotonic: Int64) -> String {
            switch self {
            case .ready: "READY=1"
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(monotonic)"
            case .stopping: "STOPPING=1"
            case .needs(let time): "EXTEND_TIMEOUT_USEC=\(Int64(time / .microseconds(1)))"
            case .alive: "WATCHDOG=1"
            case .status(let line): "STATUS=" + line.replacing("\n", with: " ")
            }
        }
    }

    /// Tells the manager; what it does not take is lost, as it is about this moment alone.
    func tell(_ states: State...) {
        guard let address else { return }
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let monotonic = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        let text = states.map { $0.text(monotonic: monotonic) }.joined(separator: "\n")
        Datagram.send(Array(text.utf8), to: address)
    }
}
