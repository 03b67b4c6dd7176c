// SPDX-License-Identifier: Apache-2.0

/// Why words could not be read as a schedule, a date, a duration or a zone.
///
/// `code` is for programs and does not change between versions; `message` is for people: it names
/// the words at fault and says what is accepted.
public struct ScheduleError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The stable word for what was wrong.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        case badDuration
        case badDate
        case badCron
        case badCalendar
        case badZone
        /// The zone may be there, and its file cannot be read now.
        case unreadZone
        case badSchedule
        case neverFires
    }

    public var code: Code
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
