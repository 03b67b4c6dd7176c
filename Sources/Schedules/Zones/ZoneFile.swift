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

    /// The table that the block at `start` holds; nil for one that breaks the format, or has leap seconds.
    ///
    /// `wide`: the block's times have 64 bits, and a rule for the time after them follows it.
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
        let times = (0..<header.transitionCount).map { index in
            let position = start + index * width
            return wide ? bytes.bigEndian64(at: position) : Int64(bytes.bigEndian32(at: position))
        }
        let typesStart = start + header.transitionCount * width
        guard zip(times, times.dropFirst()).allSatisfy(<),
            var periods = Periods(bytes, header, beginningAt: times, typesAt: typesStart)
        else { return nil }
        periods.leaveOutUncountable()
        var rule: ZoneRule?
        if wide, let footer = footer(bytes[end...]) {
            guard
                let named = ZoneRule.parse(
                    footer,
                    firstAbbreviation: UInt8(periods.abbreviations.count)
                )
            else { return nil }
            rule = named.rule
            periods.abbreviations += named.abbreviations
        }
        return ZoneTable(
            name: name,
            transitions: periods.transitions,
            offsets: periods.offsets,
            abbreviationIndices: periods.abbreviationIndices,
            abbreviations: periods.abbreviations,
            rule: rule,
            source: bytes
        )
    }

    /// The times between a zone's transitions: each has an offset and an abbreviation.
    private struct Periods {
        /// In seconds since 1970, ascending; the first period, which has no beginning, has none.
        var transitions: [Int64]
        /// In seconds east of UTC, of the first period and of that behind each transition.
        var offsets: [Int32] = []
        /// Into `abbreviations`, as many as there are offsets.
        var abbreviationIndices: [UInt8] = []
        var abbreviations: [String] = []

        /// Nil for a block that breaks the format.
        ///
        /// `typesAt`: where the block says the type of each period but the first.
        init?(_ bytes: [UInt8], _ header: Header, beginningAt times: [Int64], typesAt start: Int) {
            transitions = times
            let types = start + header.transitionCount
            let names = types + header.typeCount * 6
            // Before the first transition the first type holds.
            for type in [0] + bytes[start..<types].map(Int.init) {
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
                abbreviationIndices.append(UInt8(index))
            }
        }

        /// Leaves out what lies outside the years 1 to 9999: some files begin at the big bang, which µs cannot count.
        mutating func leaveOutUncountable() {
            let limit = Timestamp.distantFuture.microseconds / 1_000_000
            while let last = transitions.last, last >= limit {
                transitions.removeLast()
                offsets.removeLast()
                abbreviationIndices.removeLast()
            }
            let start = Timestamp.distantPast.microseconds / 1_000_000
            let ancient = transitions.prefix { $0 <= start }.count
            transitions.removeFirst(ancient)
            offsets.removeFirst(ancient)
            abbreviationIndices.removeFirst(ancient)
        }
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
