// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Locks

/// A program on a terminal of its own, and what it shows there.
final class TerminalPeer: @unchecked Sendable {
    // @unchecked: all that changes is in `screen`, behind a lock, or set before the thread that reads is started.
    private let main: Int32
    private let process = Process()
    private let screen = Locked(Screen())
    private let ended = DispatchSemaphore(value: 0)

    /// What a terminal understands of what `top` sends.
    private struct Screen {
        var lines: [[Character]] = []
        var (row, column) = (0, 0)
        var isAlternate = false
        var hasCursor = true
        var rest = ""
        /// All that came.
        var raw = ""

        mutating func read(_ text: String) {
            raw += text
            var scalars = Substring(rest + text)
            rest = ""
            while let character = scalars.first {
                if character == "\u{1b}" {
                    let body = scalars.dropFirst(2)
                    guard let end = body.firstIndex(where: { $0.isLetter }) else {
                        rest = String(scalars)
                        return
                    }
                    obey(body[..<end], body[end])
                    scalars = scalars[body.index(after: end)...]
                    continue
                }
                scalars.removeFirst()
                switch character {
                case "\r\n": (row, column) = (row + 1, 0)
                case "\n": row += 1
                case "\r": column = 0
                default: put(character)
                }
            }
        }

        private mutating func put(_ character: Character) {
            while lines.count <= row { lines.append([]) }
            while lines[row].count < column { lines[row].append(" ") }
            if lines[row].count > column {
                lines[row][column] = character
            } else {
                lines[row].append(character)
            }
            column += 1
        }

        private mutating func obey(_ parameters: Substring, _ command: Character) {
            switch (parameters, command) {
            case ("?1049", "h"): (isAlternate, lines) = (true, [])
            case ("?1049", "l"): isAlternate = false
            case ("?25", "h"): hasCursor = true
            case ("?25", "l"): hasCursor = false
            case (_, "H"):
                let numbers = parameters.split(separator: ";").map { Int($0) ?? 1 }
                row = (numbers.first ?? 1) - 1
                column = numbers.count > 1 ? numbers[1] - 1 : 0
            case (_, "J"): lines = []
            case (_, "K"):
                if row < lines.count { lines[row] = Array(lines[row].prefix(column)) }
            default: break
            }
        }
    }

    /// Starts a program on a terminal of that size.
    init(
        _ arguments: [String],
        columns: Int = 80,
        lines: Int = 24,
        environment: [String: String] = [:]
    ) throws {
        // As posix_openpt(3), unlockpt(3) and ptsname(3) do it: pts(4), ioctl_tty(2).
        main = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (unlocked, number) = (Int32(0), Int32(0))
        guard main >= 0, ioctl(main, 0x4004_5431, &unlocked) == 0,
            ioctl(main, 0x8004_5430, &number) == 0
        else { throw CocoaError(.fileReadUnknown) }
        let other = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        _ = fcntl(main, F_SETFD, FD_CLOEXEC)
        _ = fcntl(other, F_SETFD, FD_CLOEXEC)
        resize(columns: columns, lines: lines)
        let handle = FileHandle(fileDescriptor: other, closeOnDealloc: true)
        // It gets the terminal as its own, as a shell's program has it.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
        process.arguments = ["--ctty", "--wait"] + arguments
        var variables = ProcessInfo.processInfo.environment
        variables["TERM"] = "xterm"
        variables["NO_COLOR"] = nil
        process.environment = variables.merging(environment) { $1 }
        process.standardInput = handle
        process.standardOutput = handle
        process.standardError = handle
        process.terminationHandler = { [ended] _ in ended.signal() }
        try process.run()
        Thread.detachNewThread { [self] in
            var bytes = [UInt8](repeating: 0, count: 65_536)
            var rest: [UInt8] = []
            while true {
                let count = Glibc.read(main, &bytes, bytes.count)
                if count <= 0 { break }
                rest += bytes.prefix(count)
                // A character may come in two parts.
                let whole = rest.count - Self.part(rest)
                screen.withLock { $0.read(String(decoding: rest[..<whole], as: UTF8.self)) }
                rest.removeFirst(whole)
            }
        }
    }

    /// How many bytes at the end are the beginning of a character.
    private static func part(_ bytes: [UInt8]) -> Int {
        for back in 1...3 where bytes.count >= back {
            let byte = bytes[bytes.count - back]
            if byte & 0xc0 == 0x80 { continue }
            let length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
            return length > back ? back : 0
        }
        return 0
    }

    deinit { close(main) }

    func resize(columns: Int, lines: Int) {
        var size = winsize()
        (size.ws_col, size.ws_row) = (UInt16(columns), UInt16(lines))
        _ = ioctl(main, UInt(TIOCSWINSZ), &size)
    }

    func type(_ keys: String) {
        var keys = keys
        _ = keys.withUTF8 { write(main, $0.baseAddress, $0.count) }
    }

    /// The lines that are shown.
    var lines: [String] { screen.withLock { $0.lines.map { String($0) } } }
    var raw: String { screen.withLock { $0.raw } }
    /// Whether the terminal is as it was: the main screen, with a cursor, echoing, reading lines.
    var isRestored: Bool {
        var attributes = termios()
        tcgetattr(main, &attributes)
        let flags = tcflag_t(ICANON | ECHO | ISIG)
        return screen.withLock { !$0.isAlternate && $0.hasCursor }
            && attributes.c_lflag & flags == flags
    }
    /// The pid of the program's session, which is setsid's, or of the one it has started.
    var pid: Int32 {
        let group = tcgetpgrp(main)
        return group > 0 ? group : process.processIdentifier
    }
    /// The letter of proc_pid_stat(5): T of a stopped process.
    var state: Character? {
        let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        return text?.split(separator: ") ").last?.first
    }

    /// Whether the program itself has a socket beside the one of Foundation's that whatever it starts inherits.
    var isConnected: Bool {
        let group = tcgetpgrp(main)
        guard group > 0 else { return false }
        let folder = "/proc/\(group)/fd"
        // try?: it may have gone, or not be there yet.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let sockets = names.count { name in
            let path = "\(folder)/\(name)"
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
            return target?.hasPrefix("socket:") == true
        }
        return sockets > 1
    }

    /// Returns whether `condition` comes to hold; looked at often, for a while.
    func waits(_ condition: () -> Bool) async -> Bool {
        let end = ContinuousClock.now + .seconds(60)
        while !condition() {
            if ContinuousClock.now > end { return false }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    /// Returns whether a line with the text comes to be shown.
    func shows(_ text: String) async -> Bool {
        await waits { lines.contains { $0.contains(text) } }
    }

    /// The exit status, once it has ended.
    func end() async -> Int32? {
        guard await waits({ !process.isRunning }) else { return nil }
        return process.terminationReason == .exit ? process.terminationStatus : -1
    }
}
