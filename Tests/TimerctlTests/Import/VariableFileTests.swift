// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Files of variables of an imported service") struct VariableFileTests {
    @Test(
        "What systemd takes from a file is what its own reader takes",
        arguments: [
            ("A= b c \t\n", ["A": "b c"]), (#"A=a\\b"#, ["A": #"a\b"#]),
            (#"A="a\$b\n\\""#, ["A": #"a$b\n\"#]), ("A='x' \"y\" # z  \n", ["A": "xy# z"]),
            ("A=one\\\n two\n", ["A": "one two"]), ("A=\"one\\\ntwo\"\n", ["A": "onetwo"]),
            ("A=b \\ \\\n\n", ["A": "b  "]), ("A=a\rB=b\r\n", ["A": "a", "B": "b"]),
            ("J = a\n", ["J": "a"]), ("noequals\nA=1\n", ["A": "1"]), ("A=1\nA=2", ["A": "2"]),
            ("# A=1\n; A=2\n\n", [:]), ("A='it\\'\nB=2", ["A": "it\\", "B": "2"]),
            ("A=\"x\ny\"", ["A": "x\ny"]), ("A=\n", ["A": ""]), ("A=a\"b\"\n", ["A": "a\"b\""]),
            ("A=b\\", ["A": "b"]), ("A='a\nb' c\nB=1\n", ["A": "a\nbc", "B": "1"]),
            ("A=b # c\n", ["A": "b # c"]), ("A=é", ["A": "é"]),
            ("1X=1\nA-B=1\nexport C=1\nE=2", ["E": "2"]),
            // As systemd 252 does; earlier ones skipped a value with a control character.
            ("A=\u{1}\u{1B}[1mb\nB=c\u{7F}\u{C}", ["A": "\u{1}\u{1B}[1mb", "B": "c\u{7F}\u{C}"]),
            ("=\"a\nA=1\n", ["A": "1"]),
        ] as [(String, [String: String])]
    )
    func ofSystemd(text: String, variables: [String: String]) {
        #expect(VariableFile(text).ofSystemd == variables)
    }

    @Test(
        "What a run takes from a file is what timerd-runner takes",
        arguments: [
            ("A=b", "b"), ("A= b c \t", "b c"), ("export A=b", "b"), ("  A=b # c", "b # c"),
            ("A=$HOME\\n`x`", "$HOME\\n`x`"), ("A=", ""), ("A=\"\"", ""),
            ("A='b \"c\" \\n '", "b \"c\" \\n "),
            ("A=\"b \\\"c\\\" \\\\ \\$d \\n\"", "b \"c\" \\ $d \\n"), ("A=\"b\nc\"", "b\nc"),
            ("# A=c\n\n; A=d\nA=b\r\n", "b"), ("A=c\nA=b", "b"), ("A=b=c", "b=c"), ("A='b'  ", "b"),
        ]
    )
    func ofRun(text: String, value: String) throws {
        #expect(try VariableFile(text).ofRun() == ["A": value])
    }

    @Test(
        "The line at which a run ends is named as timerd-runner names it",
        arguments: [
            ("A=b\nsecret", 2, "is not NAME=value"), ("1A=secret", 1, "is not NAME=value"),
            ("A B=secret", 1, "is not NAME=value"),
            ("A=b\nB=\"secret\n\nx", 2, "begins a quote that does not end"),
            ("A='secret' more", 1, "has more behind its quote"),
            ("=secret", 1, "is not NAME=value"),
            ("A=\"x\ny\"\n-secret", 3, "is not NAME=value"), ("A=b\nB=c\0", 2, "has a NUL"),
        ]
    )
    func unread(text: String, line: Int, reason: String) {
        let refusal = VariableFile.Unread(line: line, reason: reason)
        #expect(throws: refusal) { try VariableFile(text).ofRun() }
    }

    /// What is made of a service with such a file.
    private func service(
        _ contents: String,
        _ line: String = "EnvironmentFile=/etc/x",
        owner: LocalUser = .root,
        mayRead: Bool = true
    ) throws -> (definition: JobDefinition, notes: [String]) {
        var unit = UnitFile(name: "a.service")
        unit.read("[Service]\n\(line)\nExecStart=/bin/a\n")
        var service = ServiceUnit(unit, owner: owner, isUser: false)
        service.readFile = { _ throws(Failure) in contents }
        service.mayRead = { user, path in mayRead || path != "/etc/x" || user != owner }
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        try service.apply(to: &definition)
        return (definition, service.notes)
    }

    @Test("A file that both read alike is carried without a word")
    func alike() throws {
        let (definition, notes) = try service("# c\nA=\"a\\$b\\\\c\"\nB='x y'\nC=\n")
        #expect(definition.envFile == ["/etc/x"] && notes == [])
    }

    @Test(
        "A file of which a run would not take what systemd does is refused, and no value is shown",
        arguments: [
            (#"PASS=secret\\b"#, "would not take the 'PASS'"),
            (#"PASS=secret\$b"#, "would not take the 'PASS'"),
            ("PASS=secret\\\nmore", "line 2 of it is not NAME=value"),
            ("PASS = secret", "line 1 of it is not NAME=value"),
            ("A=1\nsecret", "line 2 of it is not NAME=value"),
            ("1X=secret", "line 1 of it is not NAME=value"),
            ("A='secret'\"y\"", "line 1 of it has more behind its quote"),
        ]
    )
    func otherwise(contents: String, reason: String) {
        for line in ["EnvironmentFile=/etc/x", "EnvironmentFile=-/etc/x"] {
            let mistake = #expect(throws: UnitCommand.Mistake.self) { try service(contents, line) }
            #expect(mistake?.reason.contains(reason) == true, "\(mistake?.reason ?? "")")
            #expect(mistake?.reason.contains("secret") == false)
            #expect(mistake?.setting?.place == "a.service:2")
        }
    }

    @Test("What a run takes from a file beside what systemd does is told of")
    func more() throws {
        let (definition, notes) = try service("export F=1\nG=2\n")
        #expect(definition.envFile == ["/etc/x"])
        #expect(notes.count == 1 && notes[0].contains("a run takes F from it as well"))
    }

    @Test("A file that the owner may not read, as systemd may, is told of")
    func rights() throws {
        for line in ["EnvironmentFile=/etc/x", "EnvironmentFile=-/etc/x"] {
            let (definition, notes) = try service("A=1", line, owner: .ann, mayRead: false)
            #expect(definition.envFile?.count == 1)
            #expect(notes.count == 1 && notes[0].contains("the rights of ann, who may not"))
        }
        #expect(try service("A=1", owner: .ann).notes == [])
    }

    @Test("Whether a user may read a file is told by its mode and those of its folders")
    func modes() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = folder + "/variables"
        try "A=b".write(toFile: file, atomically: false, encoding: .utf8)
        let stranger = LocalUser(name: "x", uid: 4_000_000_001, gid: 4_000_000_001, home: "/")
        for (ofFolder, ofFile) in [(0o755, 0o640), (0o750, 0o644)] as [(mode_t, mode_t)] {
            #expect(chmod(folder, ofFolder) == 0 && chmod(file, ofFile) == 0)
            #expect(!stranger.mayRead(file), "\(ofFolder) \(ofFile)")
            #expect(LocalUser.current.mayRead(file))
        }
        #expect(stranger.mayRead("/etc/passwd"))
        #expect(stranger.mayRead(folder + "/missing") && LocalUser.current.mayRead("/missing"))
    }
}
