// SPDX-License-Identifier: Apache-2.0

extension Timestamp: CustomStringConvertible {
    /// The instant written by RFC 3339, such as "2026-12-01T09:00:00+01:00"; nil for anything else.
    ///
    /// Any offset; digits beyond the microsecond are cut off; a leap second (23:59:60 in UTC) is
    /// the second after it. A day that does not exist is nil.
    public init?(rfc3339 text: some StringProtocol) {
        // One concrete reader for every kind of text: a generic one is not specialised for callers.
        let date = text.utf8.withContiguousStorageIfAvailable { Self(bytes: $0) }
        guard let date = date ?? Array(text.utf8).withUnsafeBufferPointer({ Self(bytes: $0) })
        else { return nil }
        self = date
    }

    private init?(bytes: UnsafeBufferPointer<UInt8>) {
        var reader = DigitReader(bytes)
        guard let year = reader.number(digits: 4), reader.skip("-"),
            let month = reader.number(digits: 2), reader.skip("-"),
            let day = reader.number(digits: 2),
            reader.skip("T") || reader.skip("t") || reader.skip(" "),
            let hour = reader.number(digits: 2), reader.skip(":"),
            let minute = reader.number(digits: 2), reader.skip(":"),
            let second = reader.number(digits: 2)
        else { return nil }
        var fraction = 0
        if reader.skip(".") {
            guard let digits = reader.fraction() else { return nil }
            fraction = digits
        }
        guard let offset = reader.rfc3339Offset(), reader.isAtEnd else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        guard year >= 1, date.exists, hour <= 23, minute <= 59, second <= 60 else { return nil }
        let seconds = date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second - offset
        // Leap seconds are inserted at the end of a UTC day and nowhere else.
        if second == 60, seconds % 86_400 != 0 { return nil }
        let instant = Timestamp(microseconds: Int64(seconds) * 1_000_000 + Int64(fraction))
        guard instant >= .distantPast, instant <= .distantFuture else { return nil }
        self = instant
    }

    /// The instant in UTC with six fraction digits: "2026-12-01T08:00:00.000000Z".
    public var rfc3339: String {
        let (seconds, fraction) = floorDivide(microseconds, by: 1_000_000)
        let (days, time) = floorDivide(seconds, by: 86_400)
        let date = CivilDate(daysSince1970: Int(days))
        // Only a value that was not clamped lies outside; its year is written with more digits or a sign.
        guard (0...9999).contains(date.year) else {
            return "\(date.year)" + tail(date, time, fraction)
        }
        return String(unsafeUninitializedCapacity: 27) { buffer in
            buffer.writeNumber(date.year, digits: 4, at: 0)
            Self.writeTail(date, time, fraction, into: buffer, at: 4)
            return 27
        }
    }

    /// Appends the same text, without a string in between.
    package func appendRFC3339(to bytes: inout [UInt8]) {
        let (seconds, fraction) = floorDivide(microseconds, by: 1_000_000)
        let (days, time) = floorDivide(seconds, by: 86_400)
        let date = CivilDate(daysSince1970: Int(days))
        guard (0...9999).contains(date.year) else {
            return bytes.append(contentsOf: rfc3339.utf8)
        }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 27) { buffer in
            buffer.writeNumber(date.year, digits: 4, at: 0)
            Self.writeTail(date, time, fraction, into: buffer, at: 4)
            bytes.append(contentsOf: buffer)
        }
    }

    public var description: String { rfc3339 }

    private func tail(_ date: CivilDate, _ time: Int64, _ fraction: Int64) -> String {
        String(unsafeUninitializedCapacity: 23) { buffer in
            Self.writeTail(date, time, fraction, into: buffer, at: 0)
            return 23
        }
    }

    private static func writeTail(
        _ date: CivilDate,
        _ time: Int64,
        _ fraction: Int64,
        into buffer: UnsafeMutableBufferPointer<UInt8>,
        at start: Int
    ) {
        let time = Int(time)
        buffer[start] = UInt8(ascii: "-")
        buffer.writeNumber(date.month, digits: 2, at: start + 1)
        buffer[start + 3] = UInt8(ascii: "-")
        buffer.writeNumber(date.day, digits: 2, at: start + 4)
        buffer[start + 6] = UInt8(ascii: "T")
        buffer.writeNumber(time / 3600, digits: 2, at: start + 7)
        buffer[start + 9] = UInt8(ascii: ":")
        buffer.writeNumber(time / 60 % 60, digits: 2, at: start + 10)
        buffer[start + 12] = UInt8(ascii: ":")
        buffer.writeNumber(time % 60, digits: 2, at: start + 13)
        buffer[start + 15] = UInt8(ascii: ".")
        buffer.writeNumber(Int(fraction), digits: 6, at: start + 16)
        buffer[start + 22] = UInt8(ascii: "Z")
    }
}

extension UnsafeMutableBufferPointer<UInt8> {
    fileprivate func writeNumber(_ number: Int, digits: Int, at start: Int) {
        var rest = number
        for index in stride(from: start + digits - 1, through: start, by: -1) {
            self[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
    }
}
