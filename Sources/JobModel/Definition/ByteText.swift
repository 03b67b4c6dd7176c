// SPDX-License-Identifier: Apache-2.0

/// A text that equals none but itself, byte by byte, as in the database.
///
/// To Swift two Unicode forms of a text are equal, such as é in one code point and in two; to the database, and so as
/// names, they are two.
@propertyWrapper
package struct ByteText: Hashable, Sendable {
    package var wrappedValue: String

    package init(wrappedValue: String) { self.wrappedValue = wrappedValue }
    package init(_ text: String) { wrappedValue = text }

    package static func == (left: Self, right: Self) -> Bool {
        left.wrappedValue.utf8.elementsEqual(right.wrappedValue.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = wrappedValue
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
