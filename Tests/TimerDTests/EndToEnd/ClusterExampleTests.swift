// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("The example of several hosts", .timeLimit(.minutes(2))) struct ClusterExampleTests {
    private static let script = URL(filePath: #filePath)
        .appending(path: "../../../../examples/cluster/postgresql").standardized.path

    @Test("A folder that has something else in it stays as it is, and its owner's")
    func otherFolder() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.file("mine"),
            withIntermediateDirectories: true
        )
        try Data("mine".utf8).write(to: URL(fileURLWithPath: folder.file("mine/notes")))
        let answer = try await Self.run("mine", in: folder)
        #expect(answer.status == 73, "\(answer)")
        #expect(answer.output == "0 notes\n", "\(answer)")
    }

    @Test("A folder whose data was removed begins anew, whatever logs are left in it")
    func begunAnew() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.file("jobs"),
            withIntermediateDirectories: true
        )
        for name in ["log", "initdb.log"] {
            try Data().write(to: URL(fileURLWithPath: folder.file("jobs/\(name)")))
        }
        let answer = try await Self.run("jobs", in: folder)
        // It comes to initdb, which fails here: with 9, or as nobody, who may not enter the folder, in another way.
        #expect(answer.status != 73, "\(answer)")
        #expect(answer.status != 0, "\(answer)")
    }

    @Test("A folder that would be several words of the server's options is refused, and not made")
    func words() async throws {
        let folder = try TemporaryFolder()
        let answer = try await Self.run("a b", in: folder)
        #expect(answer.status == 64, "\(answer)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["bin"])
    }

    /// The script's own status; and of the files in its folder how many are not the user's, and their names.
    private static func run(_ name: String, in folder: TemporaryFolder) async throws
        -> Shell.Answer
    {
        // In place of PostgreSQL's programs, where these are not installed.
        try await Shell(folder: folder.path)(
            """
            mkdir bin && printf '#!/bin/sh\\nexit 9\\n' >bin/pg_ctl && cp bin/pg_ctl bin/initdb && chmod 755 bin/*
            PATH=$PWD/bin:$PATH '\(script)' '\(name)'; status=$?
            [ ! -e '\(name)' ] || echo $(find '\(name)' ! -user "$(id -u)" | wc -l) $(ls '\(name)')
            exit $status
            """
        )
    }
}
