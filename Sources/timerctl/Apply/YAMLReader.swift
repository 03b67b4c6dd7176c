// SPDX-License-Identifier: Apache-2.0

import TimerControl
import Yams

/// Reads the one document of a file.
struct YAMLReader {
    let file: String
    /// How many more values may be read: an alias repeats its value, and with aliases of aliases a few lines
    /// would fill the memory of any machine.
    private var room = 1_000_000

    private init(file: String) { self.file = file }

    /// Reads the value; nil for a file without one.
    ///
    /// - Throws: the `Mistake` that keeps it from being YAML.
    static func value(of text: String, file: String) throws(Mistake) -> YAMLValue? {
        var reader = Self(file: file)
        let root: Node?
        do {
            root = try Parser(yaml: text).singleRoot()
        } catch let error as YamlError {
            throw reader.mistake(error)
        } catch {
            throw Mistake(place: Place(file: file, line: 1, column: 1), message: "\(error)")
        }
        return try root.map { (node) throws(Mistake) in try reader.value(node) }
    }

    private mutating func value(_ node: Node) throws(Mistake) -> YAMLValue {
        let place = place(node.mark)
        room -= 1
        guard room > 0 else {
            throw Mistake(place: place, message: "with all its aliases the file is too large")
        }
        switch node {
        case .scalar(let scalar):
            let isPlain = scalar.style == .plain && scalar.tag.rawValue != Tag.Name.str.rawValue
            return YAMLValue(place: place, content: .scalar(scalar.string, isPlain: isPlain))
        case .sequence(let nodes):
            var elements: [YAMLValue] = []
            for node in nodes { elements.append(try value(node)) }
            return YAMLValue(place: place, content: .list(elements))
        case .mapping(let pairs):
            var members: [(key: YAMLValue, value: YAMLValue)] = []
            for (key, node) in pairs { members.append((try value(key), try value(node))) }
            return YAMLValue(place: place, content: .map(members))
        case .alias(let alias):
            throw Mistake(place: place, message: "the alias '*\(alias.anchor.rawValue)' is unknown")
        }
    }

    private func place(_ mark: Mark?) -> Place {
        Place(file: file, line: mark?.line ?? 1, column: mark?.column ?? 1)
    }

    private func mistake(_ error: YamlError) -> Mistake {
        switch error {
        case .scanner(let context, let problem, let mark, _),
            .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            let before = context.map { "\($0.text.trimmed) (line \($0.mark.line)): " } ?? ""
            return Mistake(place: place(mark), message: "not YAML: \(before)\(problem)")
        case .duplicatedKeysInMapping(let keys, let context):
            let names = keys.map { "'\($0)'" }.joined(separator: ", ")
            return Mistake(place: place(context.mark), message: "\(names) is given twice")
        case .reader(let problem, let offset, _, let text):
            return Mistake(place: place(at: offset ?? 0, in: text), message: "not YAML: \(problem)")
        default:
            return Mistake(place: place(nil), message: "not YAML: \(error)")
        }
    }

    private func place(at offset: Int, in text: String) -> Place {
        let before = text.prefix(offset).split(separator: "\n", omittingEmptySubsequences: false)
        return Place(file: file, line: before.count, column: (before.last?.count ?? 0) + 1)
    }
}

extension String {
    /// The text without blanks at its end, as libYAML's messages have them.
    fileprivate var trimmed: Substring {
        var rest = self[...]
        while rest.last == " " { rest.removeLast() }
        return rest
    }
}
