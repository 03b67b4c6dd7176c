// SPDX-License-Identifier: Apache-2.0

import TestPostgres
import Testing

@testable import Postgres

@Suite("PostgreSQL addresses", .enabled(if: PostgresServer.isInstalled))
struct PostgresAddressTests {
    @Test(
        "An address is shown as it was written, without its passwords",
        arguments: [
            ("postgresql://ann:s3cret@db:5433/jobs", "postgresql://ann:***@db:5433/jobs"),
            ("postgres://ann:s%40%2F@db", "postgres://ann:***@db"),
            ("postgresql://ann:a:b@db/jobs", "postgresql://ann:***@db/jobs"),
            ("postgresql://:s3cret@db", "postgresql://:***@db"),
            (
                "postgresql://db/jobs?user=ann&password=s3cret",
                "postgresql://db/jobs?user=ann&password=***"
            ),
            (
                "postgresql://db?pass%77ord=s3cret&user=ann",
                "postgresql://db?pass%77ord=***&user=ann"
            ),
            ("postgresql://ann:s?e@db?sslpassword=x", "postgresql://ann:***@db?sslpassword=***"),
            (
                "postgresql://a:p@h1,h2:5433/db?connect_timeout=2",
                "postgresql://a:***@h1,h2:5433/db?connect_timeout=2"
            ),
            ("host=db password=s3cret dbname=jobs", "host=db password=*** dbname=jobs"),
            ("host=db password = 'it\\'s a secret' port=1", "host=db password = *** port=1"),
            ("password=a\\ b user=ann", "password=*** user=ann"),
            ("user=ann sslpassword=s3cret", "user=ann sslpassword=***"),
            ("password='s3cret'host=db", "password=***host=db"),
            ("password=ein🔑 host=db", "password=*** host=db"),
        ]
    )
    func redacts(_ text: String, _ redacted: String) throws {
        let address = try PostgresAddress(text)
        #expect(address.redacted == redacted)
        #expect(address.hasPassword)
    }

    @Test(
        "An address without a password is shown as it is",
        arguments: [
            "postgresql://ann@db/jobs", "postgresql:///jobs?host=/run/postgresql",
            "postgresql://db/a@b", "host=db passfile=/etc/pass", "", "postgresql://ann:@db",
            "host=db password=''",
        ]
    )
    func showsAll(_ text: String) throws {
        let address = try PostgresAddress(text)
        #expect(address.redacted == text)
        #expect(!address.hasPassword)
    }

    @Test(
        "What is wrong in an address is named, its password is not",
        arguments: [
            ("hots=db password=s3cret", "invalid connection option \"hots\""),
            ("host=db password=se cret", "missing \"=\" after \"...\""),
            ("postgresql://ann:s3%zzcret@db", "invalid percent-encoded token: \"...\""),
            ("postgresql://ann:s3@cret@db", "its host has an '@'"),
            ("postgresql://ann:s3/cret@db", "its port is no number"),
            ("postgresql://db:port/jobs", "its port is no number"),
            ("postgresql://db?hots=x", "invalid URI query parameter: \"hots\""),
            ("host=db port=70000", "its port is no number from 1 to 65535"),
            ("jobs.sqlite", "missing \"=\" after \"jobs.sqlite\""),
            ("password='s3cret", "unterminated quoted string"),
            ("host=a\0b", "byte 0"),
            ("postgresql://db/jobs&password=s3cret", "its dbname has 'password=' in it"),
            ("postgresql://db?user=a@b&password=s3cret", "its host has 'password=' in it"),
        ]
    )
    func names(_ text: String, _ reason: String) {
        let error = PostgresError.thrown { _ = try PostgresAddress(text) }
        #expect(error?.kind == .address)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("cret") == false, "\(error?.message ?? "")")
        #expect(error?.message.contains("'postgresql://user@host/database'") == true)
    }

    @Test("Hosts are tried one by one, each with what is said for all")
    func candidates() throws {
        let address = try PostgresAddress(
            "postgresql://ann@a:1,b:2/jobs?target_session_attrs=any&tcp_user_timeout=7"
        )
        let candidates = ConnectOptions.candidates(of: address, application: "x")
        let places = candidates.map(\.place)
        #expect(places == ["'a' port 1", "'b' port 2"])
        for candidate in candidates {
            let said = candidate.options.map { "\($0.keyword)=\($0.value)" }
            #expect(said.contains("user=ann"))
            #expect(said.contains("dbname=jobs"))
            #expect(said.contains("target_session_attrs=any"))
            #expect(said.contains("tcp_user_timeout=7"))
            #expect(said.contains("keepalives_idle=1"))
            #expect(said.contains("application_name=x"))
        }
    }

    @Test("A connection has the name that timerd goes by, whatever the address calls it")
    func applicationName() throws {
        let address = try PostgresAddress(SharedServer.address() + "&application_name=jobs")
        let connection = try PostgresConnection(
            address,
            application: "timerd relay a",
            within: .patience
        )
        let name = try connection.execute(
            "SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()",
            within: .patience
        )
        #expect(name.text(0, 0) == "timerd relay a")
    }

    @Test("A library that is not there is named, and how to get it")
    func noLibrary() {
        let error = PostgresError.thrown { _ = try LibPQ(named: "libpq.so.0") }
        #expect(error?.kind == .noLibrary)
        #expect(error?.message.contains("apt install libpq5") == true)
        // One that is there and is another.
        let other = PostgresError.thrown { _ = try LibPQ(named: "libc.so.6") }
        #expect(other?.message.contains("PQconninfoParse") == true)
    }
}
