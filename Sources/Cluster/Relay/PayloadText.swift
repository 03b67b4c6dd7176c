// SPDX-License-Identifier: Apache-2.0

/// Bytes as the text of a notification: base64 (RFC 4648) without its padding.
enum PayloadText {
    /// What fits: PostgreSQL takes payloads that are shorter than 8,000 bytes, of which whole groups are 7,996.
    static let mostBytes = 5997

    private static let letters = [UInt8](
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )

    /// The value of each letter; 255 of a byte that is none.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, letter) in letters.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    static func encode(_ bytes: [UInt8]) -> String {
        let count = (bytes.count * 4 + 2) / 3
        return String(unsafeUninitializedCapacity: count) { text in
            letters.withUnsafeBufferPointer { letters in
                var place = 0
                var bits: UInt32 = 0
                var held: UInt32 = 0
                for byte in bytes {
                    bits = bits << 8 | UInt32(byte)
                    held += 8
                    while held >= 6 {
                        held -= 6
                        text[place] = letters[Int(bits >> held & 63)]
                        place += 1
                    }
                }
                if held > 0 {
                    text[place] = letters[Int(bits << (6 - held) & 63)]
                    place += 1
                }
                return place
            }
        }
    }

    /// The bytes of a text that `encode` has made; nil of any other.
    static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { text in
            // One letter alone holds no byte.
            guard text.count % 4 != 1 else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(text.count * 3 / 4)
            var bits: UInt32 = 0
            var held: UInt32 = 0
            for letter in text {
                let value = values[Int(letter)]
                guard value < 64 else { return nil }
                bits = bits << 6 | UInt32(value)
                held += 6
                if held >= 8 {
                    held -= 8
                    bytes.append(UInt8(truncatingIfNeeded: bits >> held))
                }
            }
            // What is left over is no part of a byte: one and the same message has one text.
            return bits & (1 << held - 1) == 0 ? bytes : nil
        }
    }
}
