// SPDX-License-Identifier: Apache-2.0

extension Node {
    /// The markup, in UTF-8.
    public var rendered: [UInt8] {
        var writer = MarkupWriter()
        writer.write(self)
        return writer.bytes
    }

    /// A whole document.
    public var document: [UInt8] {
        var writer = MarkupWriter()
        writer.bytes += "<!DOCTYPE html>\n".utf8
        writer.write(self)
        writer.bytes.append(UInt8(ascii: "\n"))
        return writer.bytes
    }
}

/// Writes nodes; what is text is escaped here, and nowhere else.
struct MarkupWriter {
    var bytes: [UInt8] = []
    private var inField = false

    mutating func write(_ node: Node) {
        switch node {
        case .text(let text): if inField { writeAttribute(text) } else { writeText(text) }
        case .group(let nodes): for node in nodes { write(node) }
        case .element(let tag, let attributes, let content):
            write(tag, attributes, content)
        }
    }

    private mutating func write(_ tag: Tag, _ attributes: [Attribute], _ content: [Node]) {
        let name = tag.rawValue.utf8
        bytes.append(UInt8(ascii: "<"))
        bytes += name
        for attribute in attributes {
            bytes.append(UInt8(ascii: " "))
            bytes += attribute.name.utf8
            guard let value = attribute.value else { continue }
            bytes += "=\"".utf8
            writeAttribute(value)
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: ">"))
        if tag.isVoid { return }
        // A browser drops the first break of these; this one instead of the text's own.
        if tag == .textarea || tag == .pre { bytes.append(UInt8(ascii: "\n")) }
        // What is in a field comes back with a form: it is what it was, as in an attribute.
        let isField = inField
        inField = tag == .textarea
        for node in content { write(node) }
        inField = isField
        bytes += "</".utf8
        bytes += name
        bytes.append(UInt8(ascii: ">"))
        if !tag.isInline { bytes.append(UInt8(ascii: "\n")) }
    }

    private mutating func writeText(_ text: String) {
        if text.utf8.allSatisfy({ Self.isPlain($0) }) {
            bytes += text.utf8
            return
        }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": bytes += "&amp;".utf8
            case "<": bytes += "&lt;".utf8
            case ">": bytes += "&gt;".utf8
            case "\n", "\t": bytes.append(UInt8(scalar.value))
            default:
                bytes += UTF8.encode(VisibleText.shown(scalar)) ?? UTF8.encodedReplacementCharacter
            }
        }
    }

    /// The value as it is, for it may come back with a form; only what no document may hold is replaced.
    private mutating func writeAttribute(_ text: String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": bytes += "&amp;".utf8
            case "<": bytes += "&lt;".utf8
            case ">": bytes += "&gt;".utf8
            case "\"": bytes += "&quot;".utf8
            case "'": bytes += "&#39;".utf8
            // A browser would make blanks of them, or read the two as one.
            case "\n": bytes += "&#10;".utf8
            case "\r": bytes += "&#13;".utf8
            case "\0": bytes += "\u{2400}".utf8
            default: bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        0x20..<0x7f ~= byte && byte != UInt8(ascii: "&") && byte != UInt8(ascii: "<")
            && byte != UInt8(ascii: ">")
    }
}
