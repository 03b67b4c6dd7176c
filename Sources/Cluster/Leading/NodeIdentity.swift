// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform

/// Who a node is among the others.
package struct NodeIdentity: Sendable, Equatable {
    /// Unique among the nodes that are there.
    package var name: String
    /// Where it runs: nodes of one name and one machine follow each other, which the caller sees to with a lock on a
    /// file there.
    package var machine: String
    /// Of this process alone.
    package var incarnation: String
    /// For people: the host's name.
    package var host: String
    package var version: String
    package var labels: [String]

    /// One of this process; `host`: nil for what this host calls itself.
    package init(
        name: String,
        machine: String,
        incarnation: String = NodeIdentity.newIncarnation(),
        host: String? = nil,
        version: String,
        labels: [String] = []
    ) {
        self.name = name
        self.machine = machine
        self.incarnation = incarnation
        self.host = host ?? HostName.current
        self.version = version
        self.labels = labels
    }

    package static func newIncarnation() -> String {
        String(UInt64.random(in: .min ... .max), radix: 16)
    }

    /// This machine, since it was started, and `folder` on it, in which the caller holds its lock.
    ///
    /// Each part alone has twins: copies of a virtual machine have its /etc/machine-id, containers of one host its boot
    /// id, and those of one image both.
    package static func machine(folder: String) -> String {
        let parts = ["/etc/machine-id", "/proc/sys/kernel/random/boot_id"].map(firstLine)
        return (parts + [HostName.current, folder]).joined(separator: "/")
    }

    /// Empty where there is none, as in some containers.
    private static func firstLine(_ path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = max(read(file, &bytes, bytes.count), 0)
        return String(decoding: bytes[..<count].prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
    }
}

/// A node as the others see it.
package struct NodeStatus: Sendable, Equatable {
    package var name: String
    package var host: String
    package var version: String
    package var labels: [String]
    /// In µs since 1970, by the database's clock.
    package var startedAt: Int64
    /// How long its row is still in force, in µs; negative for how long ago it was last.
    package var remaining: Int64
    package var isThere: Bool { remaining > 0 }
    package var drains: Bool
    /// Since when it does, in µs since 1970 by the database's clock; nil if it does not.
    package var drainsSince: Int64?
    /// The number of its lead; nil of one that does not lead.
    package var epoch: Int64?
    package var leads: Bool { epoch != nil }
    /// Its wall clock minus the database's, in µs; nil where it has not compared them.
    package var clockDifference: Int64?
}
