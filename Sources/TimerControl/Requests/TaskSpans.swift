// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// The durations in requests on tasks, which were checked when the request was read.
extension ReserveTasks {
    static let leases = TimeSpan.milliseconds(100)...TimeSpan.seconds(7 * 86_400)
    static let waits = TimeSpan.zero...TimeSpan.seconds(3600)

    public var leaseSpan: TimeSpan { TimeSpan(checked: lease) ?? .seconds(60) }
    public var waitSpan: TimeSpan { TimeSpan(checked: wait) ?? .zero }
}

extension ExtendTasks {
    /// Nil for what was said last, as each was reserved or extended.
    public var leaseSpan: TimeSpan? { TimeSpan(checked: lease) }
}

extension ReleasedTask {
    static let delays = TimeSpan.zero...TimeSpan.seconds(365 * 86_400)

    public var delaySpan: TimeSpan { TimeSpan(checked: delay) ?? .zero }
}

extension TimeSpan {
    fileprivate init?(checked words: String?) {
        // try?: what cannot be read was refused before it came here.
        guard let words, let span = try? TimeSpan(parsing: words) else { return nil }
        self = span
    }
}

/// How many tasks a queue hands out in a time, at most.
public struct TaskRate: Hashable, Sendable {
    /// 1 to 1,000,000.
    public var count: Int
    public var period: TimeSpan

    public init(count: Int, period: TimeSpan) { (self.count, self.period) = (count, period) }

    private static let periods: [(word: String, span: TimeSpan)] = [
        ("s", .seconds(1)), ("min", .seconds(60)), ("h", .seconds(3600)),
    ]

    /// Reads words such as `10/s`, `100/min` and `5000/h`; nil for any others.
    public init?(parsing words: String) {
        let parts = words.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let digit = parts[0].first, digit.isASCII, digit.isNumber,
            let count = Int(parts[0]), (1...Limits.tasksInProgress).contains(count),
            let period = Self.periods.first(where: { $0.word == parts[1] })
        else { return nil }
        self.init(count: count, period: period.span)
    }
}

extension TaskRate: CustomStringConvertible {
    public var description: String {
        "\(count)/\(Self.periods.first { $0.span == period }?.word ?? "\(period)")"
    }
}
