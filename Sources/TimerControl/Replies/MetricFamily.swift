// SPDX-License-Identifier: Apache-2.0

/// A metric with all its samples; its text is a part of an OpenMetrics exposition.
///
/// https://prometheus.io/docs/specs/om/open_metrics_spec/
public struct MetricFamily: Hashable, Sendable {
    public enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    /// Without the suffix that a counter's samples have.
    public var name: String
    public var kind: Kind
    /// `seconds` or `bytes`, which the name ends with; nil for a plain number.
    public var unit: String?
    public var help: String
    var samples: [Sample] = []

    /// One line of text: a suffix of the name, a label if there is one, and the value.
    struct Sample: Hashable, Sendable {
        var suffix = ""
        var label: Label?
        var value: String
    }

    struct Label: Hashable, Sendable {
        var name: String
        var value: String
    }

    init(_ kind: Kind, _ name: String, unit: String? = nil, _ help: String) {
        self.name = unit.map { "\(name)_\($0)" } ?? name
        self.kind = kind
        self.unit = unit
        self.help = help
    }

    /// The name under which the samples of a counter or gauge are found.
    public var sampleName: String { kind == .counter ? name + "_total" : name }

    /// The one label that distinguishes the samples, and its values; nil for none.
    public var label: (name: String, values: [String])? {
        let labels = samples.compactMap(\.label)
        return labels.first.map { ($0.name, labels.map(\.value)) }
    }

    /// The lines, each with its newline.
    var text: String {
        var lines = ["# TYPE \(name) \(kind.rawValue)"]
        if let unit { lines.append("# UNIT \(name) \(unit)") }
        lines.append("# HELP \(name) \(help.escapedForQuotes)")
        lines += samples.map { sample in
            let label = sample.label.map { "{\($0.name)=\"\($0.value.escapedForQuotes)\"}" } ?? ""
            return "\(name)\(sample.suffix)\(label) \(sample.value)"
        }
        return lines.map { $0 + "\n" }.joined()
    }
}

extension MetricFamily {
    /// With one number as its sample.
    func with(_ value: some Numeric) -> Self {
        with([(nil, value)])
    }

    /// With a number for each value of a label.
    func with(_ label: String, _ values: [(String, some Numeric)]) -> Self {
        with(values.map { (Label(name: label, value: $0.0), $0.1) })
    }

    private func with(_ values: [(Label?, some Numeric)]) -> Self {
        var family = self
        let suffix = kind == .counter ? "_total" : ""
        family.samples = values.map { Sample(suffix: suffix, label: $0.0, value: "\($0.1)") }
        return family
    }

    /// With the buckets of a histogram, each with all that is below its bound, the count and the sum.
    func with(_ histogram: Histogram) -> Self {
        var family = self
        var count = 0
        let ends = histogram.bounds.map { "\($0)" } + ["+Inf"]
        family.samples = zip(ends, histogram.counts).map { end, number in
            count += number
            let label = Label(name: "le", value: end)
            return Sample(suffix: "_bucket", label: label, value: "\(count)")
        }
        family.samples += [
            Sample(suffix: "_count", value: "\(count)"),
            Sample(suffix: "_sum", value: "\(histogram.sum)"),
        ]
        return family
    }
}
