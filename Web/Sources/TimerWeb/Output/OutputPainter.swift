// SPDX-License-Identifier: Apache-2.0

import HTML
import TimerControl
import TimerWords

/// Makes markup of what a command has written to one stream: colours as colours, all else harmless.
///
/// Other control characters than breaks and tabs are shown as symbols; nothing is left out.
struct OutputPainter: Sendable {
    private let isError: Bool
    private var style = TerminalStyle()
    /// The beginning of a character or of a sequence, whose end has not come yet.
    private var pending: [UInt8] = []

    /// Longer ones are no colours.
    private static let longestSequence = 64

    init(_ stream: StandardStream) { isError = stream == .stderr }

    /// How many of the bytes that came are not shown yet.
    var held: Int { pending.count }

    /// `isLast`: nothing comes behind: what is pending is shown as it is.
    mutating func paint(_ bytes: [UInt8], isLast: Bool = false) -> Node {
        pending += bytes
        var nodes: [Node] = []
        var text: [UInt8] = []
        // One element for those that follow each other: of a stream of zeros there would be one a byte.
        var symbols = ""
        func flushSymbols() {
            guard !symbols.isEmpty else { return }
            nodes.append(span(.class("ctl")) { symbols })
            symbols = ""
        }
        func flush(_ style: TerminalStyle) {
            guard !text.isEmpty else { return }
            flushSymbols()
            let shown = Node.text(String(decoding: text, as: UTF8.self))
            let classes = style.classes
            nodes.append(classes.isEmpty ? shown : span(.class(classes)) { shown })
            text = []
        }
        var index = 0
        reading: while index < pending.count {
            let byte = pending[index]
            switch byte {
            case 0x1b:
                switch Self.sequence(pending[index...]) {
                case .colours(let parameters, let length):
                    flush(style)
                    style.apply(parameters)
                    index += length
                    continue reading
                case .unfinished where !isLast: break reading
                case .unfinished, .other:
                    flush(style)
                    symbols += Self.symbol(byte)
                }
            case 0x0d where index + 1 < pending.count && pending[index + 1] == 0x0a: break
            case 0x0d where index + 1 == pending.count && !isLast: break reading
            case 0x0a, 0x09: text.append(byte)
            case 0..<0x20, 0x7f:
                flush(style)
                symbols += Self.symbol(byte)
            case 0x80...:
                let length = Self.length(ofCharacter: byte)
                if index + length > pending.count, !isLast, Self.isBegun(pending[index...]) {
                    break reading
                }
                text.append(byte)
            default: text.append(byte)
            }
            index += 1
        }
        flush(style)
        flushSymbols()
        pending.removeFirst(index)
        guard !nodes.isEmpty else { return .empty }
        return isError ? span(.class("err")) { nodes } : .group(nodes)
    }

    private static func symbol(_ byte: UInt8) -> String {
        String(VisibleText.shown(Unicode.Scalar(byte)))
    }

    private enum Sequence {
        case colours(String, length: Int)
        case unfinished
        case other
    }

    /// What begins with an escape character.
    private static func sequence(_ bytes: ArraySlice<UInt8>) -> Sequence {
        let rest = bytes.dropFirst()
        guard let kind = rest.first else { return .unfinished }
        guard kind == UInt8(ascii: "[") else { return .other }
        let parameters = rest.dropFirst().prefix(longestSequence).prefix { byte in
            UInt8(ascii: "0")...UInt8(ascii: ";") ~= byte
        }
        guard parameters.endIndex < bytes.endIndex else {
            return parameters.count < longestSequence ? .unfinished : .other
        }
        guard bytes[parameters.endIndex] == UInt8(ascii: "m") else { return .other }
        return .colours(
            String(decoding: parameters, as: UTF8.self),
            length: parameters.endIndex + 1 - bytes.startIndex
        )
    }

    private static func length(ofCharacter first: UInt8) -> Int {
        switch first {
        case 0xc2...0xdf: 2
        case 0xe0...0xef: 3
        case 0xf0...0xf4: 4
        default: 1
        }
    }

    /// Whether these may be the first bytes of a character.
    private static func isBegun(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.dropFirst().allSatisfy { 0x80...0xbf ~= $0 }
    }
}
