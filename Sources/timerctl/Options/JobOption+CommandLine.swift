// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// An option of a job as the command line states it, checked.
struct StatedOption: Hashable, Sendable {
    var option: JobOption
    var value: OptionValue

    /// `words`: what a refusal calls it, where it is no option on the command line.
    init(_ option: JobOption, _ argument: String, as words: String? = nil) throws {
        if option.form == .command { try Self.requireLine(argument, of: option.longName) }
        do throws(OptionRefusal) {
            // The daemon works in another folder.
            let argument =
                switch option.form {
                case .files: InputFile.absoluteOptionalPath(argument)
                case .credentials: InputFile.absoluteCredential(argument)
                default: argument
                }
            (self.option, value) = (option, try option.value(argument: argument))
        } catch {
            throw ValidationError((words ?? "--\(option.longName)") + error.predicate)
        }
    }

    /// Refuses a line for a shell that does nothing, as a script has where a variable is empty.
    static func requireLine(_ line: String, of name: String) throws {
        guard line.allSatisfy(\.isWhitespace) else { return }
        throw ValidationError("--\(name) is '\(line)', expected a line for /bin/sh")
    }
}

extension JobDefinition {
    /// States it, beside what was stated for the same option: tags, places and variables come one by one.
    mutating func add(_ stated: StatedOption) throws(OptionRefusal) {
        let value: OptionValue =
            switch (self[stated.option], stated.value) {
            case (.texts(let some), .texts(let more)) where stated.option.form != .command:
                .texts(some + more)
            case (.variables(let some), .variables(let more)): .variables(some.merging(more) { $1 })
            default: stated.value
            }
        try set(stated.option, value)
    }
}

// Names, help and checks of the command line are those of the table.

extension Option where Value == StatedOption? {
    init(_ option: JobOption) {
        self.init(
            name: .customLong(option.longName),
            parsing: option.mayBeginWithDash ? .unconditional : .next,
            help: option.help(),
            completion: option.completion,
            transform: { try StatedOption(option, $0) }
        )
    }
}

extension Option where Value == [StatedOption] {
    init(wrappedValue: Value, _ option: JobOption) {
        self.init(
            wrappedValue: wrappedValue,
            name: .customLong(option.longName),
            parsing: option.mayBeginWithDash ? .unconditionalSingleValue : .singleValue,
            help: option.help(),
            completion: option.completion,
            transform: { try StatedOption(option, $0) }
        )
    }
}

extension Option where Value == String? {
    /// One whose words are read by who knows the user's zone and folder; `unset` is what counts here
    /// where it is left out.
    init(_ option: JobOption, unset: String? = nil) {
        self.init(
            name: .customLong(option.longName),
            parsing: option.mayBeginWithDash ? .unconditional : .next,
            help: option.help(unset: unset),
            completion: option.completion
        )
    }
}

extension Flag where Value == Bool {
    init(wrappedValue: Bool, _ option: JobOption) {
        self.init(
            wrappedValue: wrappedValue,
            name: .customLong(option.longName),
            help: option.help()
        )
    }
}

extension JobOption {
    fileprivate var longName: String { flag ?? rawValue }

    /// Whether what follows is its value though it begins with a dash: "--in -5s" is a duration to be
    /// refused with its reason, not a missing one.
    var mayBeginWithDash: Bool {
        switch form {
        case .label, .labels, .path, .command, .choice, .bytes, .percent, .octal, .exitCodes, .zone,
            .places, .words, .url:
            false
        default: true
        }
    }

    fileprivate var completion: CompletionKind? {
        switch form {
        case .choice(let words), .words(let words): .list(words)
        case .path: .directory
        case .files: .file()
        case .zone: .zones
        case .label where self == .on: .hosts
        case .label where self == .queue: .queues
        default: nil
        }
    }

    /// What it does, and what counts without it.
    fileprivate func help(unset: String? = nil) -> ArgumentHelp {
        let addition: String? =
            switch form {
            case .flag: nil
            case .labels, .environment, .places, .files, .credentials: "may be given several times"
            case .json: "@FILE or - reads it"
            case .command: "a line for /bin/sh -c"
            default:
                row.standard.map { "default \($0)" }
                    ?? (unset ?? row.unset).map { "default: \($0)" }
            }
        return ArgumentHelp("\(row.meaning(and: addition))", valueName: valueName)
    }

    /// What stands for its value in help and manual; nil for the option's own name.
    var valueName: String? {
        switch form {
        case .label where self == .on: "label"
        case .label, .labels, .flag: nil
        case .command: "line"
        case .environment: "name=value"
        case .json: "json"
        case .path, .files: "path"
        case .credentials: "name[:file]"
        case .integer: "n"
        case .process: "pid"
        case .exitCodes: "n,..."
        case .choice: "policy"
        case .date: "date"
        case .duration: "duration"
        case .backoff: "d[..max]"
        case .bytes: "bytes"
        case .percent: "percent"
        case .octal: "octal"
        case .expression: "expression"
        case .zone: "zone"
        case .places: "place"
        case .words: "word,..."
        case .url: "url"
        }
    }
}
