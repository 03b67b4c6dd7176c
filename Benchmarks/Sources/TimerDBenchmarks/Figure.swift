// SPDX-License-Identifier: Apache-2.0

/// One result: what timerd did, and beside it what it is to be held against.
struct Figure: Codable, Sendable {
    var name: String
    var value: Double
    var unit: Unit
    /// The lowest and the highest value of the rounds whose median `value` is.
    var spread: ClosedRange<Double>?
    var limit: Limit?
    var expectation: Expectation?

    /// The value by the limit's; nil without a limit, or where that is zero.
    var ratio: Double? {
        guard let limit, limit.value != 0 else { return nil }
        return value / limit.value
    }

    enum Unit: String, Codable, Sendable {
        case milliseconds = "ms"
        case microseconds = "µs"
        case seconds = "s"
        case perSecond = "/s"
        case megabytes = "MB"
        case kilobytes = "KB"
        case count = ""
        case ratio = "x"
    }

    /// The same figure of something else, in the same run.
    struct Limit: Codable, Sendable {
        var name: String
        var value: Double
    }

    /// What the project has promised.
    struct Expectation: Codable, Sendable {
        var words: String
        var verdict: Verdict
    }

    enum Verdict: String, Codable, Sendable {
        case met = "yes"
        case missed = "NO"
        /// The limit itself was disturbed too much for the figure to say anything.
        case tooNoisy = "too noisy to tell"

        init(isMet: Bool, isNoisy: Bool = false) {
            self = isNoisy ? .tooNoisy : isMet ? .met : .missed
        }
    }

    init(_ name: String, _ value: Double, _ unit: Unit) {
        self.name = name
        self.value = value
        self.unit = unit
    }

    /// The median over rounds, and their spread.
    init(_ name: String, over values: [Double], _ unit: Unit) {
        let samples = Samples(values)
        self.init(name, samples.median, unit)
        spread = samples.min...samples.max
    }

    func beside(_ limitName: String, _ limit: Double) -> Figure {
        var figure = self
        figure.limit = Limit(name: limitName, value: limit)
        return figure
    }

    /// Promised by how many times the limit's it is at least.
    func reaching(atLeast ratio: Double, isNoisy: Bool = false) -> Figure {
        expecting("ratio at least \(ratio.short)", self.ratio ?? .nan >= ratio, isNoisy: isNoisy)
    }

    /// Promised by how many times the limit's it is at most.
    func reaching(atMostRatio ratio: Double) -> Figure {
        expecting("ratio at most \(ratio.short)", self.ratio ?? .nan <= ratio)
    }

    /// Promised to be at most so much, in the figure's unit.
    func reaching(atMost value: Double) -> Figure {
        let words = ["at most", value.short, unit.rawValue].filter { !$0.isEmpty }
        return expecting(words.joined(separator: " "), self.value <= value)
    }

    func expecting(_ words: String, _ isMet: Bool, isNoisy: Bool = false) -> Figure {
        var figure = self
        figure.expectation = Expectation(
            words: words,
            verdict: Verdict(isMet: isMet, isNoisy: isNoisy)
        )
        return figure
    }
}

extension Double {
    /// Without a fraction where it has none.
    fileprivate var short: String {
        self == rounded() ? "\(Int(self))" : "\((self * 100).rounded() / 100)"
    }
}
