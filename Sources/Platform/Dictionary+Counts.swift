// SPDX-License-Identifier: Apache-2.0

extension Dictionary where Value == Int {
    /// Adds `change` to the count of `key`; a count of zero or less has no entry.
    @inlinable
    package mutating func count(_ change: Int, of key: Key) {
        let count = self[key, default: 0] + change
        self[key] = count > 0 ? count : nil
    }
}
