// SPDX-License-Identifier: Apache-2.0

import Testing

/// What is done to rows, and how it is undone.
extension DamagedRowTests {
    struct Damage: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// `JOB` stands for the job's number.
        var sql: String
        var repair: String
        /// What is told of the row.
        var word: String
    }

    static let ofOpenFire = "WHERE job_id = JOB AND (state = 'running' OR state = 'dormant')"
    /// What is open of a job with a run in progress: it cannot be settled.
    static let openDamages = [
        Damage(
            testDescription: "an unknown state",
            sql: "UPDATE fires SET state = 'dormant' \(ofOpenFire)",
            repair: "UPDATE fires SET state = 'running' \(ofOpenFire)",
            word: "'dormant'"
        ),
        Damage(
            testDescription: "an unknown reason",
            sql: "UPDATE fires SET reason = 'moon' \(ofOpenFire)",
            repair: "UPDATE fires SET reason = 'manual' \(ofOpenFire)",
            word: "'moon'"
        ),
        Damage(
            testDescription: "an unknown outcome",
            sql: "UPDATE runs SET outcome = 'vanished' WHERE job_id = JOB",
            repair: "UPDATE runs SET outcome = NULL WHERE job_id = JOB",
            word: "'vanished'"
        ),
        Damage(
            testDescription: "a number that is a text",
            sql: "UPDATE runs SET attempt = 'first' WHERE job_id = JOB",
            repair: "UPDATE runs SET attempt = 1 WHERE job_id = JOB",
            word: "'first'"
        ),
        Damage(
            testDescription: "no number where there is one",
            sql: "UPDATE runs SET attempt = NULL WHERE job_id = JOB",
            repair: "UPDATE runs SET attempt = 1 WHERE job_id = JOB",
            word: "the number of its attempt"
        ),
        Damage(
            testDescription: "a date that is a text",
            sql: "UPDATE fires SET wall_date_us = 'today' \(ofOpenFire)",
            repair: "UPDATE fires SET wall_date_us = fire_date_us \(ofOpenFire)",
            word: "'today'"
        ),
        Damage(
            testDescription: "a due date that is a text",
            sql: "UPDATE fires SET due_by_us = 'soon' \(ofOpenFire)",
            repair: "UPDATE fires SET due_by_us = NULL \(ofOpenFire)",
            word: "'soon'"
        ),
    ]
    /// What is over: it is nobody's business but of who lists it.
    static let closedDamages = [
        Damage(
            testDescription: "an unknown reason",
            sql: "UPDATE fires SET reason = 'moon' WHERE job_id = JOB AND state = 'done'",
            repair: "",
            word: "'moon'"
        ),
        Damage(
            testDescription: "an unknown outcome",
            sql: "UPDATE runs SET outcome = 'vanished' WHERE job_id = JOB",
            repair: "",
            word: "'vanished'"
        ),
        Damage(
            testDescription: "a status that no process has",
            sql: "UPDATE runs SET code = 5000000000 WHERE job_id = JOB",
            repair: "",
            word: "holds an integer, not Optional<Int32>"
        ),
        Damage(
            testDescription: "a date that no calendar has",
            sql: "UPDATE runs SET ended_at_us = 9000000000000000000 WHERE job_id = JOB",
            repair: "",
            word: "a date that is out of range, 9000000000000000000 us"
        ),
    ]

    /// Writes as a bad disk does, past the types and the checks of the schema.
}
