// SPDX-License-Identifier: Apache-2.0

/// Reads a compiled time zone (TZif).
///
/// Source: RFC 9636. Versions 2 and later hold a second, 64-bit block and a rule for the time after
/// it; both are used. Leap seconds are refused: the schedules' scale has none.
enum ZoneFile {
    /// The zone in `bytes`; nil when they are not a TZif file, or one with leap seconds.
    static func parse(_ bytes: [UInt8], name: String) -> ZoneTable? {
        guard let first = Header(bytes, at: 0) else { return nil }
        if first.version == 0 {
            return block(bytes, first, at: Header.size, wide: false, name: name)
        }
        let second = Header.size + first.length(wide: false)
        guard let header = Header(bytes, at: second) else { return nil }
        return block(bytes, header, at: second + Header.size, wide: true, name: name)
    }

    private struct Header {
        static let size = 44
        var version: UInt8
        var isUTCount, isStandardCount, leapCount, transitionCount, typeCount, nameLength: Int

        init?(_ bytes: [UInt8], at start: Int) {
            guard bytes.count >= start + Self.size,
                Array(bytes[start..<start + 4]) == Array("TZif".utf8)
            else { return nil }
            version = bytes[start + 4]
            let counts = (0..<6).map { Int(bytes.bigEndian32(at: start + 20 + 4 * $0)) }
            guard counts.allSatisfy({ $0 >= 0 && $0 <= bytes.count }) else { return nil }
            (isUTCount, isStandardCount, leapCount) = (counts[0], counts[1], counts[2])
            (transitionCount, typeCount, nameLength) = (counts[3], counts[4], counts[5])
        }

        func length(wide: Bool) -> Int {
            let width = wide ? 8 : 4
            return transitionCount * (width + 1) + typeCount * 6 + nameLength
                + leapCount * (width + 4) + isStandardCount + isUTCount
        }
    }

    private static func block(
        _ bytes: [UInt8],
        _ header: Header,
        at start: Int,
        wide: Bool,
        name: String
    ) -> ZoneTable? {
        let end = start + header.length(wide: wide)
        guard header.leapCount == 0, header.typeCount >= 1, header.typeCount <= 256,
            bytes.count >= end
        else { return nil }
        let width = wide ? 8 : 4
        var transitions = (0..<header.transitionCount).map { index in
            let position = start + index * width
            return wide ? bytes.bigEndian64(at: position) : Int64(bytes.bigEndian32(at: position))
        }
        let typeIndices = start + header.transitionCount * width
        let types = typeIndices + header.transitionCount
        let names = types + header.typeCount * 6
        var abbreviations: [String] = []
        var offsets: [Int32] = []
        var indices: [UInt8] = []
        // Before the first transition the first type holds.
        let order = [0] + bytes[typeIndices..<types].map(Int.init)
        for type in order {
            guard type < header.typeCount else { return nil }
            let offset = bytes.bigEndian32(at: types + type * 6)
            let nameStart = names + Int(bytes[types + type * 6 + 5])
            guard abs(Int(offset)) < 26 * 3600, nameStart < names + header.nameLength else {
                return nil
            }
            let abbreviation = String(
                decoding: bytes[nameStart..<names + header.nameLength].prefix { $0 != 0 },
                as: UTF8.self
            )
            let index = abbreviations.firstIndex(of: abbreviation) ?? abbreviations.count
            if index == abbreviations.count { abbreviations.append(abbreviation) }
            guard index < 200 else { return nil }
            offsets.append(offset)
            indices.append(UInt8(index))
        }
        for (earlier, later) in zip(transitions, transitions.dropFirst()) where earlier >= later {
            return nil
        }
        // Some files begin at the big bang, which µs cannot count: the years 1 to 9999 are enough.
        let limit = Timestamp.distantFuture.microseconds / 1_000_000
        while let last = transitions.last, last >= limit {
            transitions.removeLast()
            offsets.removeLast()
            indices.removeLast()
        }
        let ancient = transitions.prefix { $0 <= Timestamp.distantPast.microseconds / 1_000_000 }
        transitions.removeFirst(ancient.count)
        offsets.removeFirst(ancient.count)
        indices.removeFirst(ancient.count)
        var rule: ZoneRule?
        if wide, let footer = footer(bytes[end...]) {
            guard
                let named = ZoneRule.parse(
                    footer,
                    firstAbbreviation: UInt8(abbreviations.count)
                )
            else { return nil }
            rule = named.rule
            abbreviations += named.abbreviations
        }
        return ZoneTable(
            name: name,
            transitions: transitions,
            offsets: offsets,
            abbreviationIndices: indices,
            abbreviations: abbreviations,
            rule: rule,
            source: bytes
        )
    }

    /// The text between the two newlines after the block; nil when it is empty.
    private static func footer(_ bytes: ArraySlice<UInt8>) -> String? {
        guard bytes.first == UInt8(ascii: "\n") else { return nil }
        let line = bytes.dropFirst().prefix { $0 != UInt8(ascii: "\n") }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }
}

extension [UInt8] {
    fileprivate func bigEndian32(at position: Int) -> Int32 {
        Int32(
            truncatingIfNeeded: self[position..<position + 4].reduce(0) { $0 << 8 | Int64($1) }
        )
    }

    fileprivate func bigEndian64(at position: Int) -> Int64 {
        self[position..<position + 8].reduce(0) { $0 << 8 | Int64($1) }
    }
}
