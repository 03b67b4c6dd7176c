// SPDX-License-Identifier: Apache-2.0

import Platform

/// The channel that a node listens on.
///
/// Whoever may connect to the database may notify any channel, and listen on any, whose name he knows. So its name has
/// a secret, which only the role that owns the jobs can read.
enum NodeChannel {
    /// Small letters, digits and `_`: at most 63 bytes, which a name in PostgreSQL may have.
    static func name(of node: String, secret: String) -> String {
        let known = secret.isEmpty ? "" : hex(hash("1" + secret)) + hex(hash("2" + secret)) + "_"
        return "timerd_" + known + hex(hash(node))
    }

    /// The same on any node.
    private static func hash(_ text: String) -> UInt64 { FNV1a(text.utf8).hash }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
