// SPDX-License-Identifier: Apache-2.0

import Platform
import Testing

@Suite("FNV-1a") struct FNV1aTests {
    @Test(
        "The hash is the one that is published, for it is stored",
        arguments: [
            ("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] as [(String, UInt64)]
    )
    func published(text: String, hash: UInt64) {
        #expect(FNV1a(text.utf8).hash == hash)
        var bytes = FNV1a()
        for byte in text.utf8 { bytes.add(byte) }
        #expect(bytes.hash == hash)
    }

    @Test("What is added in pieces counts as the whole, and a zero counts")
    func pieces() {
        var pieces = FNV1a("foo".utf8)
        pieces.add([0x62, 0x61, 0x72])
        #expect(pieces == FNV1a("foobar".utf8))
        pieces.add(0)
        #expect(pieces.hash == 0x3453_1ca7_168b_8f38)
    }
}
