// SPDX-License-Identifier: Apache-2.0

/// The parameters of one statement in binary form, one after the other in one buffer.
///
/// Used again for the next statement, so that a pipeline allocates for its largest alone.
struct EncodedParameters {
    /// As many as the protocol can count.
    static let most = 65_535
    /// PostgreSQL takes no value of 1 GiB.
    static let largest = 0x3FFF_FFFF

    private var buffer: [UInt8] = []
    /// Where each begins; -1 for NULL.
    private var starts: [Int] = []
    private(set) var types: [UInt32] = []
    private var lengths: [CInt] = []
    private var formats: [CInt] = []
    private var pointers: [LibPQ.Text?] = []

    /// How many bytes they have.
    var size: Int { buffer.count }

    /// Takes `parameters` in place of those before.
    mutating func encode(_ parameters: [PostgresValue]) throws(PostgresError) {
        guard parameters.count <= Self.most else {
            throw PostgresError(
                .unexpected,
                "a statement has \(parameters.count) parameters; PostgreSQL takes \(Self.most)"
            )
        }
        buffer.removeAll(keepingCapacity: true)
        // libpq takes nil for NULL: a value without bytes has to be somewhere as well.
        buffer.append(0)
        starts.removeAll(keepingCapacity: true)
        types.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        for value in parameters {
            let start = buffer.count
            buffer.append(value)
            let length = buffer.count - start
            guard length <= Self.largest else {
                throw PostgresError(
                    .unexpected,
                    "parameter \(starts.count + 1) of a statement has \(length) bytes; "
                        + "PostgreSQL takes \(Self.largest)"
                )
            }
            starts.append(value == .null ? -1 : start)
            types.append(value.type)
            lengths.append(CInt(length))
        }
        // All in binary.
        formats = [CInt](repeating: 1, count: starts.count)
    }

    /// Calls `body` with what libpq's functions take.
    mutating func withPointers<Result>(
        _ body: (CInt, LibPQ.Texts?, UnsafePointer<CInt>?, UnsafePointer<CInt>?) -> Result
    ) -> Result {
        buffer.withUnsafeBytes { bytes in
            // libpq takes all bytes as char, and reads as many as `lengths` says.
            let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            pointers.removeAll(keepingCapacity: true)
            for start in starts { pointers.append(start < 0 ? nil : base.map { $0 + start }) }
            return body(CInt(starts.count), pointers, lengths, formats)
        }
    }
}

extension PostgresValue {
    var type: UInt32 {
        switch self {
        case .null: TypeNumber.concluded
        case .integer: TypeNumber.int8
        case .text: TypeNumber.text
        case .bytes: TypeNumber.bytea
        case .boolean: TypeNumber.bool
        case .integers: TypeNumber.int8Array
        case .texts: TypeNumber.textArray
        case .byteStrings: TypeNumber.byteaArray
        }
    }
}

extension [UInt8] {
    /// In the form of the type's receive function.
    fileprivate mutating func append(_ value: PostgresValue) {
        switch value {
        case .null: break
        case .integer(let number): appendNumber(number)
        case .text(let text): append(contentsOf: text.utf8)
        case .bytes(let bytes): append(contentsOf: bytes)
        case .boolean(let isTrue): append(isTrue ? 1 : 0)
        case .integers(let numbers):
            appendArray(numbers, of: TypeNumber.int8) { bytes, number in bytes.appendNumber(number)
            }
        case .texts(let texts):
            appendArray(texts, of: TypeNumber.text) { bytes, text in
                bytes.append(contentsOf: text.utf8)
            }
        case .byteStrings(let strings):
            appendArray(strings, of: TypeNumber.bytea) { bytes, string in
                bytes.append(contentsOf: string)
            }
        }
    }

    private mutating func appendNumber(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    /// As array_recv reads it: dimensions, whether there are NULLs, the type, the size and first index of each
    /// dimension, then each element behind its length.
    private mutating func appendArray<Item>(
        _ elements: [Item?],
        of type: UInt32,
        _ append: (inout Self, Item) -> Void
    ) {
        appendNumber(Int32(elements.isEmpty ? 0 : 1))
        appendNumber(Int32(elements.contains { $0 == nil } ? 1 : 0))
        appendNumber(type)
        // An empty array has no dimension.
        if elements.isEmpty { return }
        appendNumber(Int32(truncatingIfNeeded: elements.count))
        appendNumber(Int32(1))
        for element in elements {
            let start = count
            appendNumber(Int32(-1))
            guard let element else { continue }
            append(&self, element)
            let length = UInt32(truncatingIfNeeded: count - start - 4)
            for byte in 0..<4 {
                self[start + byte] = UInt8(truncatingIfNeeded: length >> (24 - 8 * byte))
            }
        }
    }
}
