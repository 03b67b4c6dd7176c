// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Subprocess
import SystemPackage
import Testing
import TimerControl

@testable import TimerD

/// The manual pages beside the programs: what they say is what these do.
@Suite("Manual pages", .timeLimit(.minutes(2)))
struct ManPageTests {
    // MARK: - Examples

    @Test("The examples of timerctl(1) do what they say, one after another")
    func examples() async throws {
        let commands = try ManPage("man/timerctl.1").commands
        #expect(commands.count >= 10, "the examples are there")
        try await DaemonProcess.with { daemon in
            for command in commands {
                let shell = Shell(
                    variables: ["TIMERD_SOCKET": daemon.socket],
                    folder: daemon.folder
                )
                let result = try await shell(command)
                #expect(result.isDone, "\(command): \(result.errors)")
            }
            let left = try await daemon.timerctl("list").output
            #expect(!left.contains("heartbeat"), "the last example ended it")
        }
    }

    @Test("The examples of timerd(8) are right, and that of timerd.conf(5) is a configuration")
    func daemonExamples() async throws {
        let folder = try TemporaryFolder()
        for command in try ManPage("man/timerd.8").commands {
            let shell = Shell(variables: ["TIMERD_DATABASE": folder.file("timerd.db")])
            let result = try await shell(command)
            #expect(result.isDone, "\(command): \(result.errors)")
        }
        let page = try ManPage("man/timerd.conf.5").text
        let start = try #require(page.range(of: "\n{\n")).lowerBound
        let end = try #require(page.range(of: "\n}\n")).upperBound
        try String(page[start..<end]).write(
            toFile: folder.file("timerd.json"),
            atomically: false,
            encoding: .utf8
        )
        let result = try await Shell()(
            "timerd --check-config --config '\(folder.file("timerd.json"))'"
        )
        // A daemon that serves one user accepts no lists.
        #expect(result.isDone == (geteuid() == 0), "\(result.errors)")
    }

    // MARK: - Options

    /// What a program says of itself.
    private struct Help: Decodable {
        var command: Command

        struct Command: Decodable {
            var commandName: String
            var subcommands: [Command]?
            var arguments: [Argument]?
        }

        struct Argument: Decodable {
            var names: [Name]?
            var shouldDisplay: Bool
        }

        struct Name: Decodable {
            var kind: String
            var name: String

            var text: String { (kind == "long" ? "--" : "-") + name }
        }
    }

    private func help(of program: String) async throws -> Help.Command {
        let result = try await Shell()("\(program) --experimental-dump-help")
        return try JSONDecoder().decode(Help.self, from: Data(result.output.utf8)).command
    }

    /// The options that some words of a page name, with their dashes.
    private func options(in text: some StringProtocol) -> Set<String> {
        var options: Set<String> = []
        for line in text.split(separator: "\n") where line.contains("Fl ") {
            let words = line.split { " ,|".contains($0) }
            for (index, word) in words.enumerated() where word == "Fl" || word == ".Fl" {
                // Fl holds until the next macro, which has two letters: "Fl h , --help" are two, and "Fl M" is one.
                for name in words[(index + 1)...] {
                    if name.count > 1, name.first?.isUppercase == true { break }
                    options.insert("-" + name)
                }
            }
        }
        return options
    }

    private func missing(_ command: Help.Command, from text: some StringProtocol) -> [String] {
        let told = options(in: text)
        let own = (command.arguments ?? []).filter(\.shouldDisplay).flatMap { $0.names ?? [] }
            .map(\.text).filter { !told.contains($0) && $0 != "--help" && $0 != "-h" }
        return own + (command.subcommands ?? []).flatMap { missing($0, from: text) }
    }

    @Test("Every option of timerd is in timerd(8)")
    func daemonOptions() async throws {
        let page = try ManPage("man/timerd.8").text
        #expect(missing(try await help(of: "timerd"), from: page) == [])
    }

    @Test("Every command of timerctl has its section in timerctl(1), with every option")
    func clientOptions() async throws {
        let page = try ManPage("man/timerctl.1").text
        let parts = page.components(separatedBy: "\n.Ss ")
        // Only the list there: what the text behind it names, such as --tag, not every command has.
        let list = parts[0].components(separatedBy: "\n.El")[0]
        let common = list + (parts.first { $0.hasPrefix("Schedules\n") } ?? "")
        let commands = (try await help(of: "timerctl").subcommands ?? [])
            .filter { $0.commandName != "help" }
        #expect(commands.count >= 18)
        // Their options are those of add.
        let add = parts.first { $0.hasPrefix("add\n") } ?? ""
        for command in commands {
            let section = parts.first { $0.hasPrefix(command.commandName + "\n") }
            #expect(section != nil, "\(command.commandName) has no section")
            let isShort = ["at", "batch", "change", "every"].contains(command.commandName)
            let missing = missing(
                command,
                from: common + (section ?? "") + (isShort ? add : "")
            )
            #expect(missing == [], "\(command.commandName)")
        }
    }

    @Test("A synopsis of timerctl(1) has every option of its command, or the word 'options'")
    func synopses() async throws {
        let parts = try ManPage("man/timerctl.1").text.components(separatedBy: "\n.Ss ")
        let schedules = parts.first { $0.hasPrefix("Schedules\n") } ?? ""
        let common = options(in: parts[0].components(separatedBy: "\n.El")[0])
            .union(options(in: schedules))
        for command in try await help(of: "timerctl").subcommands ?? [] {
            let section = parts.first { $0.hasPrefix(command.commandName + "\n") } ?? "options"
            let synopsis = section.components(separatedBy: "\n.Pp")[0]
            guard !synopsis.contains("options") else { continue }
            let named = options(in: synopsis)
            // "Fl ft" is two of them.
            let letters = named.filter { !$0.hasPrefix("--") }.flatMap { $0.dropFirst() }
            let told = named.union(letters.map { "-\($0)" }).union(common)
            // One name of an option is enough there.
            let missing = arguments(of: command).filter { told.isDisjoint(with: $0) }
            #expect(missing == [], "\(command.commandName)")
        }
    }

    /// The names of each option of a command and of those below it.
    private func arguments(of command: Help.Command) -> [[String]] {
        let own = (command.arguments ?? []).filter(\.shouldDisplay)
            .map { ($0.names ?? []).map(\.text) }
        return own.filter { !$0.isEmpty } + (command.subcommands ?? []).flatMap(arguments)
    }

    @Test("Every setting is in timerd.conf(5), and every method in timerd-protocol(7)")
    func items() throws {
        let settings = try ManPage("man/timerd.conf.5").lines(of: "It Cm")
        #expect(settings.sorted() == Setting.allCases.map(\.rawValue).sorted())
        let methods = try ManPage("man/timerd-protocol.7").lines(of: "It Cm")
        #expect(methods.sorted() == Request.Method.allCases.map(\.rawValue).sorted())
    }
}
