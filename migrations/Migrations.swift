// SPDX-License-Identifier: Apache-2.0

/// The history of the schema, embedded in the binary.
///
/// Released files never change: what has to be different is a further file and a further line.
public enum Migrations {
    /// Every migration in the order in which they are applied, numbered from 1.
    public static let all: [(number: Int, name: String, sql: String)] = [
        (1, "create_jobs", text(PackageResources._001_create_jobs_sql))
    ]

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
