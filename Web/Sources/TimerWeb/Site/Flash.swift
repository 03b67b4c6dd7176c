// SPDX-License-Identifier: Apache-2.0

import HTML
import Locks

/// What a page says once about what was just done, and how that is undone.
struct Flash: Sendable {
    var kind: StateWord.Kind
    var content: Node
    var undo: Undo?

    /// A form with one button.
    struct Undo: Sendable {
        var label: String
        var action: Link
        var fields: [Link.Field] = []
    }

    /// About what it takes.
    fileprivate var bytes: Int {
        let fields = undo?.fields.map { $0.name.utf8.count + $0.value.utf8.count } ?? []
        return fields.reduce(content.rendered.count, +)
    }

    /// The field of an address that names one.
    static let field = "flash"

    static func done(_ content: Node, undo: Undo? = nil) -> Self {
        Self(kind: .ok, content: content, undo: undo)
    }

    static func refused(_ message: String) -> Self {
        Self(kind: .failed, content: .text(message.asSentence))
    }
}

/// The flashes that were not shown yet: the newest of them.
final class Flashes: Sendable {
    private static let most = 200
    /// Bytes of all but the newest: an undo of many jobs, or of a change, has as many as a form.
    static let mostBytes = 4 << 20

    private let kept = Locked<[(key: String, flash: Flash, bytes: Int)]>([])

    /// Keeps one for the page that is shown next; answers its key.
    func keep(_ flash: Flash) -> String {
        let key = String(UInt64.random(in: .min ... .max), radix: 36)
        let bytes = flash.bytes
        kept.withLock { kept in
            var (rest, count) = (Self.mostBytes, 0)
            for older in kept.suffix(Self.most - 1).reversed() {
                rest -= older.bytes
                if rest < 0 { break }
                count += 1
            }
            kept.removeFirst(kept.count - count)
            kept.append((key, flash, bytes))
        }
        return key
    }

    /// One that is shown now, and never again.
    func take(_ key: String) -> Flash? {
        kept.withLock { kept in
            kept.firstIndex { $0.key == key }.map { kept.remove(at: $0).flash }
        }
    }
}

extension String {
    /// With a capital and a full stop, as a message of the daemon stands on a page.
    var asSentence: String {
        guard let first else { return self }
        let end = hasSuffix(".") || hasSuffix("?") ? "" : "."
        return first.uppercased() + dropFirst() + end
    }
}
