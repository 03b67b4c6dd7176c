// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerControl

/// The letter of a queue, as at(1) has them: a tag of the job, and how much it gives way.
struct AtQueueLetter: Hashable {
    let letter: String

    init?(argument: String) {
        // By its bytes: a letter and an accent behind it are one character.
        guard argument.utf8.count == 1, let scalar = argument.unicodeScalars.first,
            ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
        else { return nil }
        letter = argument
    }

    /// - Throws: `ValidationError`, for what follows -q.
    init(stated word: String) throws {
        guard let letter = Self(argument: word) else {
            throw ValidationError("-q is '\(word)', accepted is a letter, a to z or A to Z")
        }
        self = letter
    }

    private init(letter: String) { self.letter = letter }

    static let standard = Self(letter: "a")

    private static let prefix = "queue:"

    var tag: String { Self.prefix + letter }

    /// The one of a job; 'a' for one that has none.
    static func of(_ job: Job) -> Self {
        let tags = (job.definition.tags ?? []).lazy.filter { $0.hasPrefix(prefix) }
        return tags.compactMap { Self(argument: String($0.dropFirst(prefix.count))) }.first
            ?? standard
    }

    /// Two steps for each letter behind 'a', as under atd(8); 0 for 'a'.
    var nice: Int {
        let place = letter.lowercased().unicodeScalars.first.map { Int($0.value) - 97 } ?? 0
        return min(place * 2, 19)
    }
}

/// What at(1) has beside dates and scripts.
struct AtOptions: ParsableArguments {
    @Option(
        name: .customShort("q"),
        help: ArgumentHelp(
            "A queue, a to z or A to Z: the tag 'queue:c'; later letters give way more.",
            valueName: "letter"
        ),
        transform: { try AtQueueLetter(stated: $0) }
    )
    var queue: AtQueueLetter?

    @Flag(
        name: .customShort("m"),
        help: "A mail to you once it has ended, well or not, unless it was killed: see --notify."
    )
    var mail = false

    @Flag(
        name: .customShort("M"),
        help: "No mail, whatever happens: the notice place 'none', unless --notify says another."
    )
    var noMail = false

    /// Accepted for the scripts of at(1), and read by nobody: the date is told without it, too.
    @Flag(name: .customShort("v"), help: "For scripts of at(1): the date is always told.")
    var tellsDate = false

    /// States them, where the job's own options say nothing of it.
    func apply(to script: inout AtScript) throws {
        if let queue {
            script.job.general.tags.append(try StatedOption(.tags, queue.tag))
            try script.giveWay(queue.nice)
        }
        try applyMail(to: &script.job.notices)
    }

    private func applyMail(to notices: inout NoticeOptions) throws {
        if mail, noMail { throw ValidationError("-m and -M exclude each other") }
        if noMail, notices.notify.isEmpty {
            notices.notify = [try StatedOption(.notify, "none")]
        }
        guard mail else { return }
        if notices.notify.isEmpty { notices.notify = [try StatedOption(.notify, "mail")] }
        if notices.notifyOn.isEmpty {
            notices.notifyOn = [try StatedOption(.notifyOn, "failed,succeeded")]
        }
        notices.notifyEvery = try notices.notifyEvery ?? StatedOption(.notifyEvery, "0s")
    }
}
