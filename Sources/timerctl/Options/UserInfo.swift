// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The value of `--user-info`: JSON, "@FILE" for a file's JSON, or "-" for standard input's.
///
/// Neither mark can begin a JSON text.
enum UserInfo {
    /// The text of the value; `read` gives the bytes of a path, or of standard input for "-".
    ///
    /// - Throws: 65 for text that is not JSON, with its position; what `read` throws.
    static func value(
        of argument: String,
        read: (String) throws(Failure) -> [UInt8]
    ) throws(Failure) -> JSONText {
        let bytes: [UInt8]
        if argument == "-" {
            bytes = try read("-")
        } else if argument.hasPrefix("@") {
            bytes = try read(String(argument.dropFirst()))
        } else {
            bytes = Array(argument.utf8)
        }
        do {
            return try JSONText(parsing: bytes)
        } catch {
            throw Failure(.badData, "--user-info is not JSON: \(sentence(error, in: bytes))")
        }
    }

    /// "line 1, column 10: expected a value, found 's'".
    private static func sentence(_ fault: JSONSyntaxError, in bytes: [UInt8]) -> String {
        let before = bytes[..<fault.offset]
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let column = String(decoding: before[lineStart...], as: UTF8.self).count + 1
        let found = String(decoding: bytes[fault.offset...].prefix(32), as: UTF8.self).first
            .map { "'\(Printable.escaped(String($0)))'" }
        return "line \(line), column \(column): "
            + "expected \(fault.expected), found \(found ?? "the end")"
    }
}
