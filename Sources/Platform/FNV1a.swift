// SPDX-License-Identifier: Apache-2.0

/// The hash FNV-1a of 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): of the same bytes the same, in each process, on
/// each machine and in each version, as Swift's own is not.
///
/// It tells apart what nobody has made to be alike, and keeps no secret. It is stored, and goes from one node to another:
/// no bit of it may change. It is called for each byte: without `@usableFromInline` on the type as well nothing of it would
/// be inlined elsewhere.
@usableFromInline
package struct FNV1a: Hashable, Sendable {
    @usableFromInline package var hash: UInt64

    /// Of no bytes.
    @inlinable
    package init() { hash = 0xcbf2_9ce4_8422_2325 }

    @inlinable
    package init(_ bytes: some Sequence<UInt8>) {
        self.init()
        add(bytes)
    }

    @inlinable
    package mutating func add(_ byte: UInt8) {
        hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
    }

    @inlinable
    package mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { add(byte) }
    }
}
