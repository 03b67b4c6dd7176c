// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
package import SystemPackage

/// Writes lines to a descriptor that may refuse them for a while, as a file on a full disk does.
///
/// What it refuses is left out. Once it takes lines again, one says ahead of them how many are missing, and why.
package struct LineWriter: Sendable {
    private let descriptor: Int32
    private let noun: String
    /// The lines that were refused since one was taken last, and why the last of them was.
    private var missing: (count: Int, cause: Errno)?
    /// Whether what was taken last ends within a line.
    private var isCut = false

    /// `noun`: what a line is: "record".
    package init(to descriptor: Int32, of noun: String) {
        (self.descriptor, self.noun) = (descriptor, noun)
    }

    /// Writes whole lines; returns once all is taken, or why the rest is left out.
    package mutating func write(_ lines: [UInt8]) -> Errno? {
        if let missing {
            let end = isCut ? "\n" : ""
            let (rest, cause) = put(Array((end + words(of: missing)).utf8))
            guard rest.isEmpty else {
                self.missing = (missing.count + Self.count(lines[...]), cause)
                return cause
            }
            self.missing = nil
        }
        let (rest, cause) = put(lines)
        guard !rest.isEmpty else { return nil }
        missing = (Self.count(rest), cause)
        return cause
    }

    private func words(of missing: (count: Int, cause: Errno)) -> String {
        let (what, they) =
            missing.count == 1 ? ("a \(noun)", "it") : ("\(missing.count) \(noun)s", "they")
        let reason = "\(they) could not be written: \(missing.cause.text)"
        return "timerd: \(what) left out here, as \(reason)\n"
    }

    /// How many lines end there.
    private static func count(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.count { $0 == UInt8(ascii: "\n") }
    }

    /// Returns what is not taken, and why not.
    private mutating func put(_ bytes: [UInt8]) -> (rest: ArraySlice<UInt8>, cause: Errno) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
                isCut = bytes[rest.startIndex - 1] != UInt8(ascii: "\n")
            } else if count == -1, errno == EAGAIN {
                // Another process that has this open file has set it to non-blocking.
                var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&room, 1, -1)
            } else if count == -1, errno != EINTR {
                return (rest, .last)
            }
        }
        return (rest, Errno(rawValue: 0))
    }
}
