// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import timerctl

@Suite("UnknownOption") struct UnknownOptionTests {
    /// What is said of it; nil where the words were accepted, or another sentence says more.
    private func sentence(_ words: [String]) -> String? {
        do {
            _ = try Timerctl.parseAsRoot(words)
            return nil
        } catch {
            return UnknownOption(in: words, refusedFor: error)?.sentence
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
        ]
    )
    func others(words: [String]) {
        #expect(sentence(words) == nil)
    }
}
