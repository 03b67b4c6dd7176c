// SPDX-License-Identifier: Apache-2.0

import Schedules

extension JobDefinition {
    /// Checks what can be checked without a clock and without the other jobs.
    ///
    /// The path says where the definition stands among the parameters, such as `jobs[3].`.
    ///
    /// - Throws: `invalidParams` for what is malformed, `limitReached` for what is too large.
    package func check(at path: String = "") throws(ControlError) {
        try checkWords(at: path)
        if let name { try checkLabel(name, "\(path)name") }
        if let tags {
            try checkCount(tags.count, Limits.tags, "tags", "\(path)tags")
            for (index, tag) in tags.enumerated() { try checkLabel(tag, "\(path)tags[\(index)]") }
        }
        if let command { try checkCommand(command, "\(path)command") }
        if let env { try checkEnvironment(env, "\(path)env") }
        if let cwd {
            guard cwd.hasPrefix("/") else {
                throw .wrong("\(path)cwd", "'\(cwd)'", "an absolute path")
            }
            try checkSize(cwd.utf8.count + 1, Limits.path, "\(path)cwd")
            try checkNoNUL(cwd, "\(path)cwd")
        }
        if let userInfo {
            try checkSize(userInfo.text.utf8.count, Limits.userInfo, "\(path)userInfo")
        }
        if let count { try checkRange(count, 1...Int.max, "\(path)count") }
        if let misfireLimit {
            try checkRange(misfireLimit, 1...Limits.misfireLimit, "\(path)misfireLimit")
        }
    }

    /// Checks the size of every text that is parsed later.
    private func checkWords(at path: String) throws(ControlError) {
        try schedule.checkSizes(at: "\(path)schedule")
        let words = [
            ("until", until), ("tolerance", tolerance), ("jitter", jitter),
            ("misfireAfter", misfireAfter),
            ("misfireWindow", misfireWindow),
        ]
        for (field, words) in words {
            if let words { try checkSize(words.utf8.count, Limits.words, "\(path)\(field)") }
        }
    }

    private func checkCommand(_ command: [String], _ path: String) throws(ControlError) {
        guard let program = command.first, !program.isEmpty else {
            throw .wrong(
                path,
                command.isEmpty ? "empty" : "without a program",
                "[program, argument, ...]"
            )
        }
        try checkCount(command.count, Limits.arguments, "arguments", path)
        try checkSize(command.reduce(0) { $0 + $1.utf8.count + 1 }, Limits.command, path)
        for (index, argument) in command.enumerated() {
            try checkNoNUL(argument, "\(path)[\(index)]")
        }
    }

    private func checkEnvironment(_ env: [String: String], _ path: String) throws(ControlError) {
        try checkCount(env.count, Limits.variables, "variables", path)
        let size = env.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 2 }
        try checkSize(size, Limits.environment, path)
        for (name, value) in env.sorted(by: { $0.key < $1.key }) {
            guard !name.isEmpty, !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "=") })
            else {
                throw .wrong(
                    path,
                    "with a variable \(JSONValue.string(name).jsonText)",
                    "names without '=' and NUL"
                )
            }
            try checkNoNUL(value, "\(path).\(name)")
        }
    }
}

extension ScheduleWords {
    /// Checks the size of each word; what the words mean is read later.
    func checkSizes(at path: String) throws(ControlError) {
        let all = [
            ("in", `in`), ("at", at), ("every", every), ("from", from), ("cron", cron),
            ("calendar", calendar), ("tz", tz),
        ]
        for (field, words) in all {
            if let words { try checkSize(words.utf8.count, Limits.words, "\(path).\(field)") }
        }
    }
}

/// Checks a name or tag: some text on one line.
func checkLabel(_ label: String, _ path: String) throws(ControlError) {
    guard !label.isEmpty else { throw .wrong(path, "empty", "a name") }
    try checkSize(label.utf8.count, Limits.name, path)
    guard !label.unicodeScalars.contains(where: isControl) else {
        throw .wrong(path, JSONValue.string(label).jsonText, "text without control characters")
    }
}

/// Unicode's category Cc, whose members never change.
private func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
}

func checkSize(_ size: Int, _ limit: Int, _ path: String) throws(ControlError) {
    guard size <= limit else {
        throw ControlError(
            .limitReached,
            "parameter '\(path)' has \(size) bytes; at most \(limit) are accepted"
        )
    }
}

func checkCount(
    _ count: Int,
    _ limit: Int,
    _ things: String,
    _ path: String
) throws(ControlError) {
    guard count <= limit else {
        throw ControlError(
            .limitReached,
            "parameter '\(path)' has \(count) \(things); at most \(limit) are accepted"
        )
    }
}

func checkRange(_ value: Int, _ range: ClosedRange<Int>, _ path: String) throws(ControlError) {
    guard range.contains(value) else {
        let upper = range.upperBound == .max ? "upwards" : "to \(range.upperBound)"
        throw .wrong(path, "\(value)", "a number from \(range.lowerBound) \(upper)")
    }
}

private func checkNoNUL(_ text: String, _ path: String) throws(ControlError) {
    guard !text.utf8.contains(0) else { throw .wrong(path, "with a NUL", "text without NUL") }
}

extension ControlError {
    /// The error for a parameter that is not what it has to be.
    static func wrong(_ path: String, _ found: String, _ expected: String) -> Self {
        Self(.invalidParams, "parameter '\(path)' is \(found), expected \(expected)")
    }
}
