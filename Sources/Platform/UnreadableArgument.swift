// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An argument of this program that is not UTF-8: taken as text it would be another one.
public struct UnreadableArgument: CustomStringConvertible {
    /// From 1.
    var number: Int
    var bytes: [UInt8]

    /// That the arguments are not known, in a sentence; nil where they are.
    ///
    /// Swift reads them from /proc, the program's own name as well. Where that is missing there seem to be none, and each
    /// option would be dropped: `timerd --check-config` would be a start, on the database of the system.
    public static var lack: String? {
        CommandLine.argc > 0
            ? nil : "the arguments cannot be read: /proc is not mounted (mount -t proc proc /proc)"
    }

    /// The first one; nil where all are text.
    package static var first: Self? {
        for number in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[number] else { break }
            let bytes = UnsafeRawBufferPointer(start: argument, count: strlen(argument))
            if String(validating: bytes, as: UTF8.self) == nil {
                return Self(number: number, bytes: Array(bytes))
            }
        }
        return nil
    }

    /// "argument 3, $'caf\xe9', is not UTF-8 text", in the words of a shell.
    public var description: String {
        let digits = Array("0123456789abcdef")
        let shown = bytes.prefix(80).map { byte in
            let isPlain = (0x20..<0x7f).contains(byte) && byte != UInt8(ascii: "'")
            guard isPlain, byte != UInt8(ascii: "\\") else {
                return "\\x\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
            return String(UnicodeScalar(byte))
        }
        let rest = bytes.count > 80 ? "..." : ""
        return "argument \(number), $'\(shown.joined())\(rest)', is not UTF-8 text"
    }
}
