// SPDX-License-Identifier: Apache-2.0

public import TimerControl

extension Finding {
    /// Whether the database takes what is to be stored.
    public static func storage(_ status: StatusReply) -> Self {
        if let trouble = status.unwritable {
            // PostgreSQL may have no room, or refuse it for its roles, its locks, or its tables.
            let mend =
                status.node == nil
                ? "make room, or mend the disk"
                : "mend what it says, in PostgreSQL or on the way to it"
            return .broken(
                "storage",
                trouble,
                "\(mend): until then commands wait, and events go on for some seconds; timerd goes on by itself once it can write"
            )
        }
        guard let dropped = status.dropped else {
            return .ok("storage", "the database takes writes")
        }
        return Self(
            level: dropped.unstoredHolds > 0 ? .broken : .warning,
            subject: "storage",
            text: dropped.sentence,
            advice: "journalctl -u timerd has why, at \"a record was dropped\"; held jobs go on by"
                + " themselves once that can be stored, from what is stored"
        )
    }
}

extension StatusReply {
    /// That nothing is stored, and why; nil while the database takes writes.
    public var unwritable: String? { trouble.map { "the database takes no writes: \($0)" } }
}

extension StatusReply.Dropped {
    /// "2 records could not be stored since the daemon's start; 1 job is held, which could not be stored either".
    public var sentence: String {
        let words =
            "\(records) \(records == 1 ? "record" : "records") could not be stored since the daemon's start"
        guard unstoredHolds > 0 else { return words }
        let jobs = unstoredHolds == 1 ? "1 job is" : "\(unstoredHolds) jobs are"
        return "\(words); \(jobs) held, which could not be stored either"
    }
}
