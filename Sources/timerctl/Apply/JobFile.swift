// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// A job that a file declares.
struct DeclaredJob: Sendable {
    /// Where its name stands.
    var place: Place
    /// As the daemon is to have it, without the label.
    var definition: JobDefinition
    /// What its dates had to be taken for, with their places: local times that do not exist or come twice.
    var notes: [(place: Place, text: String)] = []

    var name: String { definition.name ?? "" }
}

/// The jobs and the label that a file declares, and all mistakes in it.
struct JobFile {
    var label: String?
    var labelPlace: Place?
    var jobs: [DeclaredJob] = []
    private(set) var mistakes: [Mistake] = []

    /// What its jobs have that do not say otherwise.
    private var defaults: [JobOption: OptionValue] = [:]
    private let now: Timestamp
    private let zone: Zone

    /// Reads a file; `zone` is that of dates without one.
    init(_ text: String, file: String, now: Timestamp, zone: Zone) {
        (self.now, self.zone) = (now, zone)
        do throws(Mistake) {
            guard let value = try YAMLReader.value(of: text, file: file), !value.isNull else {
                throw Mistake(
                    place: Place(file: file, line: 1, column: 1),
                    message: "the file is empty, accepted are 'label', 'defaults' and 'jobs'"
                )
            }
            try read(value)
        } catch {
            mistakes.append(error)
        }
    }

    private mutating func read(_ value: YAMLValue) throws(Mistake) {
        guard case .map(let members) = value.content else {
            throw Mistake(
                place: value.place,
                message:
                    "the file is \(value.kind), accepted is a map with 'label', 'defaults' and 'jobs'"
            )
        }
        var hasJobs = false
        // Wherever they stand, they count for all jobs.
        for (key, value) in members where key.text == "defaults" { readDefaults(value) }
        for (key, value) in members {
            switch key.text {
            case "label": readLabel(value)
            case "defaults": break
            case "jobs":
                hasJobs = true
                readJobs(value)
            default:
                mistakes.append(
                    Mistake(
                        place: key.place,
                        message:
                            "\(key.kind) is unknown here, accepted are 'label', 'defaults' and 'jobs'"
                    )
                )
            }
        }
        if !hasJobs {
            mistakes.append(Mistake(place: value.place, message: "'jobs' is missing"))
        }
    }

    private mutating func readLabel(_ value: YAMLValue) {
        guard let text = value.text, Label.isAccepted(text) else {
            mistakes.append(
                Mistake(
                    place: value.place,
                    message: "'label' is \(value.kind), accepted is \(Label.accepted)"
                )
            )
            return
        }
        (label, labelPlace) = (text, value.place)
    }

    private mutating func readDefaults(_ value: YAMLValue) {
        var reader = JobReader(name: "", place: value.place, now: now, zone: zone)
        defaults = reader.defaults(value)
        mistakes += reader.mistakes
    }

    private mutating func readJobs(_ value: YAMLValue) {
        if value.isNull { return }
        guard case .map(let members) = value.content else {
            mistakes.append(
                Mistake(
                    place: value.place,
                    message: "'jobs' is \(value.kind), accepted is a map of names to jobs"
                )
            )
            return
        }
        for (key, value) in members {
            guard let name = key.text, !name.isEmpty else {
                mistakes.append(
                    Mistake(
                        place: key.place,
                        message: "the job's name is \(key.kind), accepted is "
                            + JobOption.name.acceptedInFile
                    )
                )
                continue
            }
            var reader = JobReader(name: name, place: key.place, now: now, zone: zone)
            reader.others = defaults
            if let job = reader.job(value) { jobs.append(job) }
            mistakes += reader.mistakes
        }
    }
}

/// The tag that marks the jobs of some files: "applied:web".
enum Label {
    static let prefix = "applied:"
    /// What it may have beside the prefix, in bytes.
    static let longest = Limits.name - prefix.utf8.count
    static let accepted = "a name of 1 to \(longest) bytes without control characters"

    static func tag(_ label: String) -> String { prefix + label }

    static func isAccepted(_ label: String) -> Bool {
        1...longest ~= label.utf8.count
            && !label.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}
