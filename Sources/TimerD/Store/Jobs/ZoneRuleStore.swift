// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// The rows of the zones' rules, and which jobs go by them: SQL alone, no decision.
struct ZoneRuleStore {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// All of them, without the rules: as many as zones are in use.
    ///
    /// Without one whose name cannot be read: the jobs of such a damaged row go by the zone's file as it is.
    func names() throws -> [(id: ZoneRulesID, name: String)] {
        try database.prepare(SQL.names).all { row -> (id: ZoneRulesID, name: String)? in
            guard let name: String = row.ifReadable(1) else { return nil }
            return (try row.get(0), name)
        }.compactMap(\.self)
    }

    /// All of them, each with its zone's file; nil for a row that is damaged.
    func zones() throws -> [(id: ZoneRulesID, zone: Zone?)] {
        try database.prepare(SQL.all).all { row in
            guard let name: String = row.ifReadable(1),
                let source: [UInt8] = row.ifReadable(2)
            else { return (try row.get(0), nil) }
            return (try row.get(0), Zone(named: name, source: source))
        }
    }

    func insert(_ rules: ZoneRules) throws {
        try database.prepare(SQL.insert).run(rules.id, rules.name, rules.zone.source)
    }

    /// Deletes the rules that no job goes by.
    func deleteUnused() throws { try database.prepare(SQL.deleteUnused).run() }

    /// The jobs by these rules after `cursor`.
    func jobs(by rules: ZoneRulesID, after cursor: JobID, limit: Int) throws -> [JobID] {
        try database.prepare(SQL.jobs).all(rules, cursor, limit) { try $0.get(0) }
    }

    /// Stores which rules a job's dates are computed by.
    func set(_ rules: ZoneRulesID, of job: JobID) throws {
        try database.prepare(SQL.setOfJob).run(job, rules)
    }

    enum SQL {
        static let names = "SELECT id, name FROM zone_rules"
        static let all = "SELECT id, name, source FROM zone_rules"
        static let insert = """
            INSERT OR IGNORE INTO zone_rules (id, name, source) VALUES (?1, ?2, ?3)
            """
        static let deleteUnused = """
            DELETE FROM zone_rules
            WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.zone_rules_id = zone_rules.id)
            """
        /// Uses jobs_by_zone_rules.
        static let jobs = """
            SELECT id FROM jobs WHERE zone_rules_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3
            """
        static let setOfJob = "UPDATE jobs SET zone_rules_id = ?2 WHERE id = ?1"
    }
}
