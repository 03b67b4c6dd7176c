// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// The jobs that all files together declare, and their label.
struct JobFiles {
    var label: String
    var jobs: [DeclaredJob]
    /// Files of folders that were not read though their names look as if they were meant.
    private(set) var passed: [String] = []

    /// Reads files and folders; "-" is standard input.
    ///
    /// - Throws: `Failure` 74 for what cannot be read, `Mistakes` with all that is wrong in them.
    static func read(_ paths: [String], label: String?) throws -> Self {
        var files: [JobFile] = []
        var passed: [String] = []
        for path in paths {
            if let found = try found(in: path) {
                files += try found.files.map { try file($0, isFound: true) }
                passed += found.passed
            } else {
                files.append(try file(path))
            }
        }
        var read = try Self(files, label: label)
        read.passed = passed
        return read
    }

    private static func file(_ path: String, isFound: Bool = false) throws(Failure) -> JobFile {
        let bytes = try InputFile.bytes(of: path, atMost: 64 << 20, isFound: isFound)
        let name = path == "-" ? "standard input" : path
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure(.badData, "'\(name)' is not UTF-8")
        }
        return JobFile(text, file: name, now: .now, zone: .local)
    }

    private static let suffixes = [".yaml", ".yml", ".json"]

    /// The files of a folder, sorted, and those that are passed over: "B.YAML", ".b.yaml"; nil where the path is of none.
    private static func found(
        in path: String
    ) throws(Failure) -> (files: [String], passed: [String])? {
        guard path != "-", let names = try InputFile.names(in: path) else { return nil }
        let folder = path.hasSuffix("/") ? path : "\(path)/"
        let meant = names.filter { name in suffixes.contains { name.lowercased().hasSuffix($0) } }
        let isRead = { (name: String) in
            !name.hasPrefix(".") && suffixes.contains { name.hasSuffix($0) }
        }
        let files = meant.filter(isRead).sorted().map { folder + $0 }
        let passed = meant.filter { !isRead($0) }.sorted().map { folder + $0 }
        guard !files.isEmpty else {
            let others = passed.map { "; '\($0)' is passed over" }.joined()
            throw Failure(
                .badData,
                "the folder '\(path)' has no *.yaml, *.yml or *.json" + others
            )
        }
        return (files, passed)
    }

    /// - Throws: `Mistakes`; `Failure` 65 if there is no label.
    init(_ files: [JobFile], label: String?) throws {
        var mistakes = files.flatMap(\.mistakes)
        var first: [String: Place] = [:]
        jobs = files.flatMap(\.jobs)
        for job in jobs {
            if let other = first.updateValue(job.place, forKey: job.name) {
                mistakes.append(
                    Mistake(place: job.place, message: "job '\(job.name)' is at \(other), too")
                )
            }
        }
        mistakes += Self.sharedKeys(of: jobs)
        mistakes += jobs.compactMap(\.tagsTooMany)
        let labels = files.compactMap { file in file.label.map { ($0, file.labelPlace) } }
        self.label = label ?? labels.first?.0 ?? ""
        for (other, place) in labels where other != self.label {
            guard let place else { continue }
            mistakes.append(
                Mistake(place: place, message: "the label is '\(other)', expected '\(self.label)'")
            )
        }
        guard mistakes.isEmpty else { throw Mistakes(mistakes) }
        guard Label.isAccepted(self.label) else {
            throw Failure(
                .badData,
                label == nil
                    ? "no label; say whose jobs these are, 'label: NAME' in the file or --label NAME"
                    : "--label '\(self.label)' is not accepted, which is \(Label.accepted)"
            )
        }
    }

    /// Keys that two jobs have: the daemon would add the first of them alone.
    private static func sharedKeys(of jobs: [DeclaredJob]) -> [Mistake] {
        var first: [String: DeclaredJob] = [:]
        return jobs.compactMap { job in
            guard let key = job.definition.key else { return nil }
            guard let other = first[key] else {
                first[key] = job
                return nil
            }
            return Mistake(
                place: job.place,
                message: "job '\(job.name)' has the key '\(key)', which job '\(other.name)' "
                    + "at \(other.place) has; a key stands for one job"
            )
        }
    }
}

extension DeclaredJob {
    /// The mistake of tags that leave no room for the label's, which the job has on the daemon; nil if there is room.
    var tagsTooMany: Mistake? {
        let (count, limit) = (definition.tags?.count ?? 0, Limits.tags - 1)
        guard count > limit else { return nil }
        return Mistake(
            place: place,
            message: "job '\(name)': 'tags' has \(count) tags; at most \(limit) are accepted, "
                + "as the label is one more"
        )
    }
}
