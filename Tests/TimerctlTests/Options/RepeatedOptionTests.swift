// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import timerctl

@Suite("RepeatedOption") struct RepeatedOptionTests {
    private func check(_ words: [String]) throws {
        try RepeatedOption.check(words, of: Timerctl.parseAsRoot(words))
    }

    @Test(
        "An option that takes one value is refused where it is said twice",
        arguments: [
            (["add", "--cron", "0 9 * * *", "--cron=0 17 * * *", "--", "true"], "--cron"),
            (["add", "--every", "5s", "--name", "a", "--name", "b", "true"], "--name"),
            (["list", "-n", "5", "-n", "6"], "-n"),
            (["next", "--every", "5s", "-n3", "-n5"], "-n"),
            (["runs", "1", "--socket", "/a", "--socket", "/b"], "--socket"),
        ]
    )
    func twice(words: [String], option: String) {
        let refusal = #expect(throws: ValidationError.self) { try check(words) }
        #expect(refusal?.message == "\(option) is said twice; it takes one value")
    }

    @Test("What is looked at first knows each option that has a short name and a long one")
    func longNames() throws {
        var commands: [any ParsableCommand.Type] = [Timerctl.self]
        var known: [String: Set<String>] = [:]
        while let command = commands.popLast() {
            commands += command.configuration.subcommands
            for names in try RepeatedOption.single(of: command) {
                let short = names.filter { !$0.hasPrefix("--") }
                let long = names.filter { $0.hasPrefix("--") }
                for name in short where !long.isEmpty { known[name, default: []].formUnion(long) }
            }
        }
        #expect(known == RepeatedOption.longNames.mapValues { Set($0) })
    }

    @Test("An option that takes one value is refused where it is said by both of its names")
    func bothNames() {
        for words in [["-n", "1", "--count", "2"], ["--count=2", "-n", "1"]] {
            let refusal = #expect(throws: ValidationError.self) {
                try check(["skip", "2"] + words)
            }
            #expect(refusal?.message.hasSuffix("are one option, which takes one value") == true)
        }
    }

    @Test(
        "What may be said again, and what is a command's own, is left alone",
        arguments: [
            ["add", "--every", "5s", "--tag", "a", "--tag", "b", "--env", "A=1", "--env", "B=1"],
            ["add", "--every", "5s", "curl", "--name", "a", "--name", "b"],
            ["add", "--every", "5s", "--", "curl", "--name", "a", "--name", "b"],
            ["list", "--json", "--json"], ["skip", "2", "-n", "1", "--json"],
        ]
    )
    func again(words: [String]) throws {
        try check(words)
    }
}
