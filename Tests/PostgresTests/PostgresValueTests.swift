// SPDX-License-Identifier: Apache-2.0

import Postgres
import TestPostgres
import Testing

@Suite("PostgreSQL values", .enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(2)))
struct PostgresValueTests {
    let connection: PostgresConnection

    init() throws { connection = try SharedServer.connect() }

    @Test("A bigint comes back", arguments: [0, 1, -1, 258, .min, .max] as [Int64])
    func integers(_ number: Int64) throws {
        let rows = try connection.execute(
            "SELECT $1, $1::text",
            [.integer(number)],
            within: .patience
        )
        #expect(rows.integer(0, 0) == number)
        #expect(rows.text(0, 1) == "\(number)")
    }

    @Test("A text comes back", arguments: ["", "a", "it's \"€\" 🔑\n\\"], [1, 100_000])
    func texts(_ part: String, _ repeats: Int) throws {
        let text = String(repeating: part, count: repeats)
        let rows = try connection.execute(
            "SELECT $1, $1::varchar, length($1)",
            [.text(text)],
            within: .patience
        )
        #expect(rows.text(0, 0) == text)
        #expect(rows.text(0, 1) == text)
        #expect(rows.integer(0, 2) == Int64(text.unicodeScalars.count))
    }

    @Test(
        "A bytea comes back",
        arguments: [[], [0], [0, 255, 10, 7]] as [[UInt8]],
        [1, 1 << 18]
    )
    func bytes(_ part: [UInt8], _ repeats: Int) throws {
        let bytes = [UInt8](repeatElement(part, count: repeats).joined())
        let rows = try connection.execute(
            "SELECT $1, length($1)",
            [.bytes(bytes)],
            within: .patience
        )
        #expect(rows.bytes(0, 0) == bytes)
        #expect(rows.integer(0, 1) == Int64(bytes.count))
    }

    @Test("Booleans and NULL come back")
    func booleansAndNull() throws {
        let rows = try connection.execute(
            "SELECT $1, $2, $3::bigint, $3::text",
            [.boolean(true), .boolean(false), .null],
            within: .patience
        )
        #expect(rows.boolean(0, 0) == true)
        #expect(rows.boolean(0, 1) == false)
        #expect(rows.isNull(0, 2))
        #expect(rows.integer(0, 2) == nil)
        #expect(rows.text(0, 3) == nil)
    }

    @Test("Arrays come back, with their NULLs")
    func arrays() throws {
        let rows = try connection.execute(
            "SELECT * FROM unnest($1, $2, $3)",
            [
                .integers([1, nil, .min]), .texts(["ä", "", nil]),
                .byteStrings([nil, [], [0, 1]]),
            ],
            within: .patience
        )
        #expect(rows.count == 3)
        #expect((0..<3).map { rows.integer($0, 0) } == [1, nil, .min])
        #expect((0..<3).map { rows.text($0, 1) } == ["ä", "", nil])
        #expect((0..<3).map { rows.bytes($0, 2) } == [nil, [], [0, 1]])
    }

    @Test("Empty arrays are none of NULL")
    func emptyArrays() throws {
        let rows = try connection.execute(
            "SELECT cardinality($1), cardinality($2), cardinality($3), array_ndims($1) IS NULL",
            [.integers([]), .texts([]), .byteStrings([])],
            within: .patience
        )
        #expect((0..<3).map { rows.integer(0, $0) } == [0, 0, 0])
        #expect(rows.boolean(0, 3) == true)
    }

    @Test("A column is read as what it is, and as nothing else")
    func kinds() throws {
        let rows = try connection.execute(
            "SELECT 7::smallint, 8::integer, 'n'::name, '{\"a\":1}'::json, 9::oid, 1.5::numeric",
            within: .patience
        )
        #expect(rows.integer(0, 0) == 7)
        #expect(rows.integer(0, 1) == 8)
        #expect(rows.text(0, 2) == "n")
        #expect(rows.text(0, 3) == "{\"a\":1}")
        #expect(rows.integer(0, 4) == 9)
        #expect(rows.text(0, 0) == nil)
        #expect(rows.bytes(0, 2) == nil)
        #expect(rows.text(0, 5) == nil)
        #expect(!rows.isNull(0, 5))
        // There is no such row or column.
        #expect(rows.integer(1, 0) == nil)
        #expect(rows.integer(0, 6) == nil)
        #expect(rows.integer(-1, -1) == nil)
    }

    @Test("A statement answers how many rows it changed")
    func affected() throws {
        try connection.script("CREATE TEMPORARY TABLE t (a bigint)", within: .patience)
        let inserted = try connection.execute(
            "INSERT INTO t SELECT unnest($1)",
            [.integers([1, 2, 3])],
            within: .patience
        )
        #expect(inserted.affected == 3)
        #expect(inserted.isEmpty)
        let updated = try connection.execute(
            "UPDATE t SET a = a WHERE a > $1 RETURNING a",
            [.integer(1)],
            within: .patience
        )
        #expect(updated.affected == 2)
        #expect(updated.count == 2)
        #expect(try connection.execute("BEGIN", within: .patience).affected == 0)
    }

    @Test("A text with a byte 0 is refused, and more parameters than the protocol counts")
    func impossible() throws {
        let zero = PostgresError.thrown {
            _ = try connection.execute("SELECT $1", [.text("a\0b")], within: .patience)
        }
        #expect(zero?.sqlState == "22021")
        let other = try SharedServer.connect()
        let many = PostgresError.thrown {
            _ = try other.execute(
                "SELECT 1",
                [PostgresValue](repeating: .null, count: 65_536),
                within: .patience
            )
        }
        #expect(many?.kind == .unexpected)
        #expect(many?.message.contains("65536") == true)
    }
}
