// SPDX-License-Identifier: Apache-2.0

import Platform
import Schedules
import TimerControl

/// How a file has a job: its options side by side, under the job's name.
extension JobOption {
    /// What a job in a file may have, in the order in which it is written; a file says the same each
    /// time, and outlives processes and connections.
    static let inFiles = allCases.filter { option in
        switch option {
        case .in, .name, .whilePid, .whileConnected: false
        default: true
        }
    }

    /// What may stand in the defaults of a file.
    static let inDefaults = inFiles.filter { !$0.isOfSchedule }

    /// Whether its value may be a URL, which is a secret.
    var hidesURLs: Bool { form == .places || form == .url }

    /// What is accepted, in the words of a message.
    var acceptedInFile: String {
        form == .command ? "a list \(form.accepted), or a line for /bin/sh -c" : form.accepted
    }

    /// What a file states; nil where that is of another shape.
    ///
    /// - Throws: a `Mistake` inside of it.
    func value(of yaml: YAMLValue) throws(Mistake) -> OptionValue? {
        switch form.shape {
        case .text: return yaml.text.map(OptionValue.text)
        case .texts:
            if form == .command, let line = yaml.text {
                return line.isEmpty ? nil : .texts(.shell(line))
            }
            guard case .list(let list) = yaml.content else { return nil }
            return .texts(try elements(of: list, accepting: "text") { $0.text })
        case .variables:
            guard case .map(let members) = yaml.content else { return nil }
            var variables: [String: String] = [:]
            for (key, value) in members {
                guard let name = key.text, let text = value.text else {
                    throw Mistake(
                        place: value.place,
                        message: "variable \(key.kind) is \(value.kind), accepted is text"
                    )
                }
                variables[name] = text
            }
            return .variables(variables)
        case .json: return .json(try yaml.jsonText)
        case .flag:
            guard case .bool(let flag) = try yaml.json else { return nil }
            return .flag(flag)
        case .integer:
            guard case .integer(let number) = try yaml.json else { return nil }
            return .integer(Int(number))
        case .integers:
            guard case .list(let list) = yaml.content else { return nil }
            let codes = try elements(of: list, accepting: "0 to 255") {
                (element) throws(Mistake) -> Int? in
                guard case .integer(let code) = try element.json else { return nil }
                return Int(code)
            }
            return .integers(codes)
        }
    }

    /// What a list has, each element as `read` takes it.
    ///
    /// - Throws: the `Mistake` of the first one that is of another shape.
    private func elements<Element>(
        of list: [YAMLValue],
        accepting accepted: String,
        _ read: (YAMLValue) throws(Mistake) -> Element?
    ) throws(Mistake) -> [Element] {
        var elements: [Element] = []
        for (index, value) in list.enumerated() {
            guard let element = try read(value) else {
                throw Mistake(
                    place: value.place,
                    message: "'\(self)[\(index)]' is \(found(value)), accepted is \(accepted)"
                )
            }
            elements.append(element)
        }
        return elements
    }

    /// A value that is not accepted, in the words of a message.
    func found(_ value: YAMLValue) -> String {
        let kind = hidesURLs ? value.masked.kind : value.kind
        // "3" in quotes would read as the number that is accepted.
        return value.isQuoted ? "the text \(kind)" : kind
    }

    /// The one form of all values that mean the same; what means nothing stays what it is.
    func meaning(of value: OptionValue) -> OptionValue {
        // try?: as above; it differs from all others then.
        if case .json(let text) = value { return (try? .json(JSONText(text.meaning()))) ?? value }
        return (try? normal(value)) ?? value
    }

    /// What counts in a file where it is left out; nil for nothing at all.
    var standardInFile: OptionValue? {
        // A pause that no file speaks of is left as it is.
        guard self != .paused else { return nil }
        // try?: a test reads each of them.
        return row.standard.flatMap { try? value(argument: $0) }
    }

    /// What it does, in a sentence.
    var meaningInFile: String {
        switch self {
        case .paused: "Paused, not armed. Where it is left out, that is left as it is."
        case .command, .onFailure, .onSuccess: row.meaning(and: "a list, or a line for /bin/sh -c")
        default: row.meaning(and: row.unset.map { "default: \($0)" })
        }
    }

    /// The name most like a misspelt one; nil where none is like it.
    static func nearest(to word: String) -> String? {
        Spelling.nearest(to: word, among: inFiles.map(\.rawValue))
    }
}
