// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// Why somebody is told of a job.
package enum NoticeReason: String, Hashable, Sendable, CaseIterable {
    /// A fire has failed for good: its retries are used up.
    case failed
    /// A date passed, and no fire stands for it.
    case missed
    /// A date was dropped because the fire before was not over, or a newer one took its place (`overlap`, `replaced`,
    /// `lineFull`).
    case skipped
    /// A fire began later than `notifyLate` after it was due.
    case late
    /// The first success after a failure.
    case recovered
    /// A fire has succeeded.
    case succeeded
    /// The dead man's switch: a run has succeeded; for `ping` alone, and none that a user may name.
    case ping

    /// The occasions that a job may name.
    package static let named = allCases.filter { $0 != .ping }
    package static let words = named.map(\.rawValue)
    package static let standard: Set<Self> = [.failed, .missed, .recovered]
}

/// Who is told what of a job: its options, read.
package struct NoticePolicy: Hashable, Sendable {
    /// Nil for the daemon's default places.
    package var places: [NoticePlace]?
    /// Nil for the daemon's default reasons.
    package var reasons: Set<NoticeReason>?
    /// How late a fire may begin before that is told; nil for `standardLate`.
    package var late: TimeSpan?
    /// In this span after a notice of the same reason further ones are held back.
    package var every = TimeSpan.seconds(3600)
    /// The URL that is asked for when a run has succeeded.
    package var ping: NoticePlace?

    package static let standardLate = TimeSpan.seconds(60)

    package init() {}

    /// What counts for jobs that do not say it.
    package struct Defaults: Hashable, Sendable {
        package var places: [NoticePlace] = []
        package var reasons = NoticeReason.standard

        package init() {}
    }

    /// Reads `definition`'s options; nil where it states none of them.
    package init?(stated definition: JobDefinition) throws(OptionRefusal) {
        guard
            definition.notify != nil || definition.notifyOn != nil || definition.notifyLate != nil
                || definition.notifyEvery != nil || definition.ping != nil
        else { return nil }
        if let words = definition.notify, !words.isEmpty {
            try JobOption.notify.check(.texts(words))
            places = words.compactMap(NoticePlace.init).filter { $0 != .none }
        }
        if let words = definition.notifyOn, !words.isEmpty {
            try JobOption.notifyOn.check(.texts(words))
            reasons = Set(words.compactMap(NoticeReason.init))
        }
        if let text = definition.notifyLate { late = try JobOption.notifyLate.span(text) }
        if let text = definition.notifyEvery { every = try JobOption.notifyEvery.span(text) }
        if let text = definition.ping {
            try JobOption.ping.check(.text(text))
            ping = NoticePlace(text)
        }
    }
}

extension JobDefinition {
    /// Whether it may be shown as it is.
    package var hidesNothing: Bool { self.notify == nil && self.ping == nil }

    /// As it is shown: no URL stands in it that may hold a secret.
    package var masked: Self {
        var masked = self
        masked.notify = self.notify?.map(Self.reference)
        masked.ping = self.ping.map(Self.reference)
        return masked
    }

    /// The options with a URL that is shown masked here and is not in `changed` any more: nobody can have it back who does not
    /// know it.
    public func optionsOfLostURLs(in changed: Self) -> [String] {
        let masked = changed.masked
        let kept = Set((masked.notify ?? []) + [masked.ping].compactMap(\.self))
        let shown = [("notify", self.notify ?? []), ("ping", [self.ping].compactMap(\.self))]
        return shown.compactMap { option, texts in
            texts.contains { MaskedURL.isMasked($0) && !kept.contains($0) } ? option : nil
        }
    }

    /// A place as it is shown in a definition, or what was taken for one.
    package static func reference(_ text: String) -> String {
        if let url = MaskedURL(of: text) { return url.reference }
        return NoticePlace(text) == nil ? NoticePlace.shown(text) : text
    }

    /// Puts the URLs of `old` in the place of what stands for them.
    ///
    /// - Throws: where something stands for a URL that `old` does not have.
    package mutating func unmask(by old: Self?) throws(OptionRefusal) {
        let known = [old?.ping].compactMap(\.self) + (old?.notify ?? [])
        func url(_ text: String) -> String? {
            guard MaskedURL.isMasked(text) else { return text }
            return known.first { MaskedURL(of: $0)?.reference == text }
        }
        for (index, text) in (self.notify ?? []).enumerated() {
            guard let url = url(text) else {
                throw JobOption.notify.masked(text, at: .index(index))
            }
            self.notify?[index] = url
        }
        if let text = self.ping {
            guard let url = url(text) else { throw JobOption.ping.masked(text, at: nil) }
            self.ping = url
        }
    }
}

extension JobOption {
    fileprivate func masked(_ text: String, at part: OptionRefusal.Part?) -> OptionRefusal {
        refusal(
            of: "'\(text)', which stands for a URL that this job does not have",
            at: part,
            expecting: "the whole URL"
        )
    }
}
