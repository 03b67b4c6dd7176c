// SPDX-License-Identifier: Apache-2.0

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

    /// FNV-1a: any node computes the same of a name, as Swift's own hash would not.
    ///
    /// http://www.isthe.com/chongo/tech/comp/fnv/
    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
