// SPDX-License-Identifier: Apache-2.0

// `timespec` is CoreFoundation's if any module of the program imports that, else Glibc's.
import CLinux
import Glibc

/// The service manager that started this process, by sd_notify(3) and sd_listen_fds(3).
///
/// The environment says where it is; in a daemon without a manager all calls do nothing.
package struct ServiceManager: Sendable {
    /// Where it listens: a path, or an abstract name after "@".
    private let address: String?
    /// How often it wants to hear that the daemon is alive; nil for never.
    let watchdogInterval: Duration?
    /// The descriptors of the sockets that it hands over.
    let sockets: Range<Int32>

    /// Whether there is a manager that wants messages.
    var isThere: Bool { address != nil }

    /// Descriptors are handed over from this one on.
    private static let firstSocket: Int32 = 3

    /// `environment`: of the process `pid`; variables that are meant for another process are ignored.
    package init(environment: [String: String], pid: Int32) {
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

    /// The socket that it hands over; nil if there is none.
    ///
    /// `path`: the daemon's socket, for the error.
    ///
    /// - Throws: `SocketError` if it hands over several: the daemon would answer on one of them only.
    package func socket(for path: String) throws(SocketError) -> Int32? {
        guard sockets.count <= 1 else {
            throw SocketError(
                path,
                "the service manager handed over \(sockets.count) sockets, accepted is one; an empty 'ListenStream='"
                    + " above that of a drop-in takes away the unit's own",
                isLasting: true
            )
        }
        return sockets.first
    }

    package enum State: Hashable, Sendable {
        case ready
        case reloading
        case stopping
        /// The step in progress may take this long, whatever the manager's own limit is.
        case needs(Duration)
        /// Alive: for the watchdog.
        case alive
        /// A line for `systemctl status`.
        case status(String)

        /// The state as sd_notify(3) spells it.
        ///
        /// `monotonic`: µs of CLOCK_MONOTONIC, part of `reloading`.
        func text(monotonic: Int64) -> String {
            switch self {
            case .ready: "READY=1"
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(monotonic)"
            case .stopping: "STOPPING=1"
            case .needs(let time): "EXTEND_TIMEOUT_USEC=\(Int64(time / .microseconds(1)))"
            case .alive: "WATCHDOG=1"
            // By scalars: "\r\n" is one character to Swift, and what stands behind it would be a further state.
            case .status(let line):
                "STATUS=" + line.unicodeScalars.map { $0 == "\n" ? " " : String($0) }.joined()
            }
        }
    }

    /// Tells the manager; a message that it does not take is lost, as it would be out of date later.
    package func tell(_ states: State...) {
        guard let address else { return }
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let monotonic = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        let text = states.map { $0.text(monotonic: monotonic) }.joined(separator: "\n")
        Datagram.send(Array(text.utf8), to: address)
    }
}
