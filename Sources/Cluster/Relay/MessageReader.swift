// SPDX-License-Identifier: Apache-2.0

/// Why a payload is no message of a node.
package struct MalformedMessage: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// Takes the parts of a message from its bytes, one after the other.
struct MessageReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { place == bytes.count }

    mutating func byte(of what: String) throws(MalformedMessage) -> UInt8 {
        guard place < bytes.count else { throw MalformedMessage("it ends within \(what)") }
        defer { place += 1 }
        return bytes[place]
    }

    /// A number in groups of seven bits, the lowest first, as LEB128 has it.
    mutating func number(of what: String) throws(MalformedMessage) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte(of: what)
            let group = UInt64(byte & 127)
            // The tenth group has one bit.
            guard shift < 63 || group < 2 else { break }
            number |= group << shift
            if byte < 128 { return number }
        }
        throw MalformedMessage("\(what) does not fit into 64 bits")
    }

    mutating func number32(of what: String) throws(MalformedMessage) -> UInt32 {
        let number = try number(of: what)
        guard let small = UInt32(exactly: number) else {
            throw MalformedMessage("\(what) is \(number), and may be \(UInt32.max) at most")
        }
        return small
    }

    mutating func fixed64(of what: String) throws(MalformedMessage) -> UInt64 {
        var number: UInt64 = 0
        for _ in 0..<8 { number = number << 8 | UInt64(try byte(of: what)) }
        return number
    }

    /// Bytes that are preceded by their count.
    mutating func bytes(of what: String) throws(MalformedMessage) -> [UInt8] {
        let count = try number(of: "the length of \(what)")
        guard count <= UInt64(bytes.count - place) else {
            let left = bytes.count - place
            throw MalformedMessage("\(what) has \(count) bytes, of which \(left) are there")
        }
        defer { place += Int(count) }
        return Array(bytes[place..<place + Int(count)])
    }

    mutating func text(of what: String) throws(MalformedMessage) -> String {
        let bytes = try bytes(of: what)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw MalformedMessage("\(what) is not UTF-8")
        }
        return text
    }
}

extension [UInt8] {
    /// The number as `MessageReader.number` reads it.
    mutating func append(number: some UnsignedInteger & FixedWidthInteger) {
        var rest = number
        while rest >= 128 {
            append(UInt8(truncatingIfNeeded: rest) | 128)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func append(fixed64 number: UInt64) {
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    mutating func append(counted bytes: some Collection<UInt8>) {
        append(number: UInt(bytes.count))
        append(contentsOf: bytes)
    }
}
