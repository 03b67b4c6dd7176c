// SPDX-License-Identifier: Apache-2.0

/// Numbers of bytes, as people say them.
enum ByteCount {
    /// "312 bytes", "1.2 KiB", "212 MiB".
    static func words(_ count: Int64) -> String {
        if count < 1024 { return count == 1 ? "1 byte" : "\(count) bytes" }
        var size = Double(count) / 1024
        for unit in ["KiB", "MiB", "GiB"] {
            if size < 1024 { return "\(number(size)) \(unit)" }
            size /= 1024
        }
        return "\(number(size)) TiB"
    }

    private static func number(_ size: Double) -> String {
        if size >= 10 { return "\(Int(size.rounded()))" }
        let tenths = Int((size * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
