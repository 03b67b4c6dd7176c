// SPDX-License-Identifier: Apache-2.0

/// The history of the schema, embedded in the binary.
///
/// Released files never change: what has to be different is a further file and a further line.
public enum Migrations {
    /// Every migration in the order in which they are applied, numbered from 1.
    ///
    /// `fingerprint`: of the schema that it and those before it make, by which a database of another build is known that
    /// has the same number. `MigratorTests` says the value after a change. A migration makes a table anew rather than alter
    /// it, as each version of SQLite may put what it alters into other words.
    public static let all: [(number: Int, name: String, sql: String, fingerprint: UInt64)] = [
        (1, "create_jobs", text(PackageResources._001_create_jobs_sql), 0x95f0_7db0_9209_5286)
    ]

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
