// SPDX-License-Identifier: Apache-2.0

extension JobOption {
    /// Checks what needs neither clock nor zone, but for words, whose size alone is checked: they are
    /// read by who asks for their meaning.
    package func check(_ value: OptionValue) throws(OptionRefusal) {
        try check(value, as: form)
    }

    /// Checks a value as `check(_:)` does, for a caller that has the option's form already.
    package func check(_ value: OptionValue, as form: OptionForm) throws(OptionRefusal) {
        switch (form, value) {
        case (.label, .text(let label)): try checkLabel(label, at: nil)
        case (.labels, .texts(let labels)):
            try checkCount(labels.count, Limits.tags, "tags")
            for (index, label) in labels.enumerated() { try checkLabel(label, at: .index(index)) }
        case (.command, .texts(let words)): try checkCommand(words)
        case (.places, .texts(let places)): try checkPlaces(places)
        case (.words(let known), .texts(let words)):
            for (index, word) in words.enumerated() where !known.contains(word) {
                throw refusal(of: word.debugDescription, at: .index(index))
            }
        case (.url, .text(let url)):
            try checkSize(url.utf8.count, Limits.place)
            guard MaskedURL.isMasked(url) || MaskedURL(of: url) != nil else {
                throw refusal(of: NoticePlace.refused(url))
            }
        case (.environment, .variables(let variables)): try checkEnvironment(variables)
        case (.json, .json(let text)):
            try checkSize(text.text.utf8.count, Limits.userInfo)
            try checkCount(text.depth, Limits.userInfoDepth, "levels")
        case (.path, .text(let path)): try checkPath(path)
        case (.files, .texts(let paths)):
            try checkCount(paths.count, Limits.files, "files")
            for (index, path) in paths.enumerated() {
                try checkPath(path.hasPrefix("-") ? path.dropFirst() : path[...], at: .index(index))
            }
        case (.credentials, .texts(let texts)): try checkCredentials(texts)
        case (.integer(let range), .integer(let number)):
            guard range.contains(number) else { throw refusal(of: "\(number)") }
        case (.process, .integer(let number)):
            guard number > 0 else { throw refusal(of: "\(number)") }
        case (.exitCodes, .integers(let codes)):
            guard !codes.isEmpty else { throw refusal(of: "empty") }
            for (index, code) in codes.enumerated() where !(0...255).contains(code) {
                throw refusal(of: "\(code)", at: .index(index), expecting: "0 to 255")
            }
        case (.choice(let words), .text(let word)):
            guard words.contains(word) else { throw refusal(of: "'\(word)'") }
        case (_, .text(let words)): try checkSize(words.utf8.count, Limits.words)
        default: break
        }
    }

    private func checkLabel(
        _ label: String,
        at part: OptionRefusal.Part?
    ) throws(OptionRefusal) {
        guard !label.isEmpty else { throw refusal(of: "empty", at: part, expecting: "a name") }
        try checkSize(label.utf8.count, Limits.name, at: part)
        // Most labels are plain ASCII, which no scalar has to be made of.
        if label.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return }
        // Unicode's category Cc, whose members never change.
        let isOnOneLine = !label.unicodeScalars.contains {
            $0.value < 0x20 || (0x7F...0x9F).contains($0.value)
        }
        guard isOnOneLine else {
            throw refusal(
                of: Self.quoted(label),
                at: part,
                expecting: "text without control characters"
            )
        }
    }

    /// Text as a literal, with all control characters as escapes.
    private static func quoted(_ text: String) -> String {
        text.debugDescription.unicodeScalars.reduce(into: "") { all, scalar in
            let isControl = scalar.properties.generalCategory == .control
            all += isControl ? scalar.escaped(asASCII: true) : String(scalar)
        }
    }

    private func checkCommand(_ words: [String]) throws(OptionRefusal) {
        guard let program = words.first, !program.isEmpty else {
            throw refusal(of: words.isEmpty ? "empty" : "without a program")
        }
        try checkCount(words.count, Limits.arguments, "arguments")
        try checkSize(words.reduce(0) { $0 + $1.utf8.count + 1 }, Limits.command)
        for (index, word) in words.enumerated() { try checkNoNUL(word, at: .index(index)) }
    }

    private func checkPath(
        _ path: some StringProtocol,
        at part: OptionRefusal.Part? = nil
    ) throws(OptionRefusal) {
        guard path.hasPrefix("/") else { throw refusal(of: "'\(path)'", at: part) }
        try checkSize(path.utf8.count, Limits.path, at: part)
        try checkNoNUL(path, at: part)
    }

    private func checkCredentials(_ texts: [String]) throws(OptionRefusal) {
        try checkCount(texts.count, Limits.credentials, "credentials")
        var names: Set<String> = []
        for (index, text) in texts.enumerated() {
            guard let credential = JobCredential(text) else {
                throw refusal(of: text.debugDescription, at: .index(index))
            }
            guard names.insert(credential.name).inserted else {
                throw refusal(
                    of: "another '\(credential.name)'",
                    at: .index(index),
                    expecting: "each name once"
                )
            }
        }
    }

    private func checkPlaces(_ places: [String]) throws(OptionRefusal) {
        try checkCount(places.count, Limits.places, "places")
        for (index, text) in places.enumerated() {
            try checkSize(text.utf8.count, Limits.place, at: .index(index))
            guard let place = NoticePlace(text) else {
                throw refusal(of: NoticePlace.refused(text), at: .index(index))
            }
            if place == .none, places.count > 1 {
                throw refusal(of: "'none'", at: .index(index), expecting: "it alone")
            }
        }
    }

    private func checkEnvironment(_ variables: [String: String]) throws(OptionRefusal) {
        try checkCount(variables.count, Limits.variables, "variables")
        let size = variables.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 2 }
        try checkSize(size, Limits.environment)
        for (name, value) in variables.sorted(by: { $0.key < $1.key }) {
            guard !name.isEmpty, !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "=") })
            else {
                throw refusal(
                    of: "with a variable \(name.debugDescription)",
                    expecting: name.isEmpty
                        ? "names that are not empty" : "names without '=' and NUL"
                )
            }
            // Shells cannot set them, and no run is started with one.
            guard !name.beginsWithDigit else {
                throw refusal(
                    of: "with a variable \(name.debugDescription)",
                    expecting: "names that do not begin with a digit"
                )
            }
            try checkNoNUL(value, at: .key(name))
        }
    }

    private func checkSize(
        _ size: Int,
        _ limit: Int,
        at part: OptionRefusal.Part? = nil
    ) throws(OptionRefusal) {
        try checkCount(size, limit, "bytes", at: part)
    }

    private func checkCount(
        _ count: Int,
        _ limit: Int,
        _ things: String,
        at part: OptionRefusal.Part? = nil
    ) throws(OptionRefusal) {
        guard count > limit else { return }
        throw OptionRefusal(
            option: self,
            part: part,
            problem: .tooMany(count, of: things, limit: limit)
        )
    }

    private func checkNoNUL(
        _ text: some StringProtocol,
        at part: OptionRefusal.Part? = nil
    ) throws(OptionRefusal) {
        guard text.utf8.contains(0) else { return }
        throw refusal(of: "with a NUL", at: part, expecting: "text without NUL")
    }
}

extension String {
    /// Whether its first character is an ASCII digit, as that of no variable's name is.
    package var beginsWithDigit: Bool {
        utf8.first.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
    }
}

extension JobDefinition {
    /// Checks each option that is stated, as `JobOption.check` does.
    package func check() throws(OptionRefusal) {
        let words = words
        for option in JobOption.allCases {
            if let value = words[option] { try option.check(value) }
        }
    }
}
