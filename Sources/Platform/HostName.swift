// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What this machine calls itself.
package enum HostName {
    package static var current: String {
        var name = [CChar](repeating: 0, count: 256)
        // The last byte stays 0, whatever it writes.
        guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
