// SPDX-License-Identifier: Apache-2.0

/// PostgreSQL's own types by number (pg_type.dat), which is the same in all its versions.
enum TypeNumber {
    /// Has the server conclude the type from where the parameter stands.
    static let concluded: UInt32 = 0
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let name: UInt32 = 19
    static let int8: UInt32 = 20
    static let int2: UInt32 = 21
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let oid: UInt32 = 26
    static let json: UInt32 = 114
    static let unknown: UInt32 = 705
    static let char: UInt32 = 1042
    static let varchar: UInt32 = 1043
    static let byteaArray: UInt32 = 1001
    static let textArray: UInt32 = 1009
    static let int8Array: UInt32 = 1016
    /// Types that the database has made itself (FirstNormalObjectId).
    static let firstOwn: UInt32 = 16_384
}
