// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import timerctl

@Suite("OptionMistake") struct OptionMistakeTests {
    /// What is said of it; nil where the words were accepted, or another sentence says more.
    private func sentence(_ words: [String]) -> String? {
        do {
            try Timerctl.checkVerb(of: words)
            _ = try Timerctl.parseAsRoot(words)
            return nil
        } catch {
            return OptionMistake.unknown(in: words, refusedFor: error)?.sentence
        }
    }

    @Test(
        "A misspelt option is told, also where something else is missing for that reason",
        arguments: [
            (["apply", "--lable", "x"], "unknown option '--lable', perhaps '--label'"),
            (["apply", "--fil=jobs.yaml"], "unknown option '--fil', perhaps '--file'"),
            (["show", "--jsn"], "unknown option '--jsn', perhaps '--json'"),
            (["kill", "--tga", "x"], "unknown option '--tga'"),
            (["import", "crontab", "--dryrun"], "unknown option '--dryrun', perhaps '--dry-run'"),
            (["ls", "--al"], "unknown option '--al', perhaps '--all'"),
            (["list", "--bogus-words"], "unknown option '--bogus-words'"),
            // Those that help does not tell of are known, and are no hint.
            (["queue", "work", "mails", "--comand", "ls"], "unknown option '--comand'"),
            (["change", "3", "--replce"], "unknown option '--replce'"),
            (
                ["queue", "work", "a", "b", "--leese", "5s", "--command=:ls"],
                "unknown option '--leese', perhaps '--lease'"
            ),
        ]
    )
    func misspelt(words: [String], expected: String) {
        #expect(sentence(words) == expected)
    }

    @Test(
        "What is wrong otherwise is told as before",
        arguments: [
            ["apply"], ["show"], ["show", "--help"], ["list", "--owner"],
            // 'add' has a sentence of its own.
            ["add", "--nmae", "x"],
            // The value of an option, and words for another program.
            ["next", "-n", "--x"], ["queue", "work", "--", "ls", "--color"],
            ["queue", "work", "mails", "curl", "--silent", "URL"],
            // It is the command that is misspelt.
            ["queue", "lst", "--json"], ["import", "crontabb", "--dry-run"],
        ]
    )
    func others(words: [String]) {
        #expect(sentence(words) == nil)
    }

    @Test(
        "An option with nothing behind its '=' does not take the next word for its value",
        arguments: [
            (["add", "--every=", "--", "true"], "--every"),
            (["add", "--every", "5s", "--env-file=", "--", "true"], "--env-file"),
            (["every", "5s", "--credential=", "--", "true"], "--credential"),
            (["skip", "1", "--count="], "--count"),
            (["runs", "--since="], "--since"),
        ]
    )
    func empty(words: [String], option: String) {
        let sentence = "\(option) is empty; expected a value behind '\(option)='"
        #expect(OptionMistake.empty(in: words)?.sentence == sentence)
    }

    @Test(
        "A word of a command, or a value, that ends with '=' is left alone",
        arguments: [
            ["add", "--every", "5s", "env", "--name="],
            ["add", "--every", "5s", "--", "env", "--name="],
            ["add", "--env", "A=", "--every", "5s", "true"], ["list", "--tag", "a="],
            ["change", "1", "--", "env", "--name="],
        ]
    )
    func filled(words: [String]) {
        #expect(OptionMistake.empty(in: words) == nil)
    }
}
