// SPDX-License-Identifier: Apache-2.0

import JobModel
import TimerControl

/// What a list looks for in its jobs: a part of a name or of a command, or a job's number.
struct JobSearch {
    /// Its capital letters made small as SQLite's lower() does it, those of ASCII alone.
    let text: String
    /// `text` as it stands within a JSON string.
    let json: String
    /// The job that it is the number of.
    let id: JobID?

    init(_ words: String) {
        text = String(
            String.UnicodeScalarView(
                words.unicodeScalars.map { scalar in
                    ("A"..."Z").contains(scalar)
                        ? Unicode.Scalar(UInt8(scalar.value) + 32) : scalar
                }
            )
        )
        json = String(JSONValue.string(text).jsonText.dropFirst().dropLast())
        id = Int64(words).map(JobID.init(rawValue:))
    }

    /// Whether a job matches, by the names of three values; any job does where they are NULL.
    ///
    /// A definition that is no JSON matches by its name or its number alone.
    static func condition(text: String, json: String, id: String) -> String {
        let list = "json_extract(job_definitions.definition, '$.command')"
        // From ["rsync","-a"] to rsync -a.
        let words = """
            replace(substr(\(list), 3, length(\(list)) - 4), '","', ' ')
            """
        return """
            (\(text) IS NULL OR jobs.id = \(id) OR instr(lower(job_definitions.name), \(text)) > 0
                OR CASE WHEN json_valid(job_definitions.definition)
                    THEN instr(lower(\(words)), \(json)) > 0 END)
            """
    }
}
