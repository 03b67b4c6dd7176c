// SPDX-License-Identifier: Apache-2.0

/// What is fuzzed: a reader of bytes that others wrote, with what has to hold of all it accepts.
enum FuzzTarget: String, CaseIterable, Sendable {
    // The wire.
    case lines, json, requests, replies
    // What schedules are made of.
    case durations, dates, zones, zoneFiles, cron, calendar
    // The configuration file.
    case settings

    /// Gives one input to the reader.
    ///
    /// - Throws: `BrokenProperty` where something does not hold.
    func check(_ input: [UInt8]) throws {
        switch self {
        case .lines: try checkLines(input)
        case .json: try checkJSON(input)
        case .requests: try checkRequests(input)
        case .replies: try checkReplies(input)
        case .durations: try checkDuration(input)
        case .dates: try checkDate(input)
        case .zones: try checkZoneName(input)
        case .zoneFiles: try checkZoneFile(input)
        case .cron: try checkCron(input)
        case .calendar: try checkCalendar(input)
        case .settings: try checkSettings(input)
        }
    }
}

/// What did not hold of an input, in one line.
struct BrokenProperty: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

/// Throws what `message` says, unless the condition holds.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw BrokenProperty(message()) }
}
