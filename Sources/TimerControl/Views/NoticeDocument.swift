// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// What a notice tells, as webhooks and commands get it: docs/notices.md describes each field.
package struct NoticeDocument: Codable, Hashable, Sendable {
    /// Of this shape: fields may be added to it, none changes its meaning.
    package static let version = 1

    package var version = Self.version
    /// The same for each try of one notice.
    package var notice: NoticeID?
    package var subject: String?
    package var host: String?
    package var reason: String
    package var job: JobID
    package var name: String?
    package var owner: String
    package var fire: FireID?
    package var run: RunID?
    package var attempt: Int?
    package var fireDate: Timestamp?
    /// The last date and the number of dates, where a range was missed.
    package var through: Timestamp?
    package var dates: Int?
    /// Why a date did not fire, as in `fire.skipped`.
    package var skipped: FireReason?
    package var startedAt: Timestamp?
    package var endedAt: Timestamp?
    /// How long after it was due, by its jitter and tolerance, a late fire began.
    package var lateBy: String?
    package var outcome: Run.Outcome?
    package var status: Int32?
    package var signal: Int32?
    /// Why a run did not start, or was killed.
    package var error: String?
    /// The ends of what the run wrote.
    package var stdout: String?
    package var stderr: String?
    /// Of a summary: how many notices it stands for, and when the first and the last came.
    package var held: Int?
    package var heldFrom: Timestamp?
    package var heldTo: Timestamp?
    /// How many notices of the owner were not kept, because too many waited.
    package var dropped: Int?

    package init(reason: NoticeReason, job: JobID, name: String?, owner: String) {
        self.reason = reason.rawValue
        (self.job, self.name, self.owner) = (job, name, owner)
    }

    /// As a text that can be stored, and read again by `init(stored:)`.
    package var text: String {
        // try?: every field of it can be written.
        (try? JSONValue(encoding: self))?.jsonText ?? "{}"
    }

    package init(stored text: String) throws {
        self = try JSONValue(parsing: text).decoded()
    }

    /// How many bytes of a run's output are told.
    package static let outputLimit = 4096

    /// Takes the ends of what a run has written: of each stream half as much as is told, and more where the other
    /// has less.
    package mutating func take(_ output: CapturedOutput) {
        let half = Self.outputLimit / 2
        let errors = max(half, Self.outputLimit - output.stdout.count)
        let answers = max(half, Self.outputLimit - output.stderr.count)
        stdout = Self.end(of: output.stdout, limit: answers)
        stderr = Self.end(of: output.stderr, limit: errors)
    }

    private static func end(of bytes: [UInt8], limit: Int) -> String? {
        guard !bytes.isEmpty else { return nil }
        let end = bytes.suffix(limit)
        // Not from the middle of a character on, of which three bytes at most are missing.
        let rest = bytes.count > limit ? end.prefix(3).prefix { $0 & 0xC0 == 0x80 }.count : 0
        return String(decoding: end.dropFirst(rest), as: UTF8.self)
    }
}
