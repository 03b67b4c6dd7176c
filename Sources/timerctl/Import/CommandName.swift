// SPDX-License-Identifier: Apache-2.0

/// A name for a job from the command it runs.
enum CommandName {
    /// "backup.sh" for "cd / && nice /opt/backup.sh --all"; nil if no word of it will do.
    static func name(of command: String) -> String? {
        let parts = command.split { "&|;(){}".contains($0) }
        for part in parts {
            let words = part.split(separator: " ").drop {
                preludes.contains(baseName($0)) || $0.contains("=")
            }
            guard let program = words.first, !tests.contains(program) else { continue }
            var name = baseName(program)
            // For an interpreter, the script's name says more.
            if interpreters.contains(name),
                let script = words.dropFirst().first(where: { !$0.hasPrefix("-") })
            {
                name = baseName(script)
            }
            let plain = name.filter { $0.isLetter || $0.isNumber || "._-".contains($0) }
            if !plain.isEmpty { return String(plain.prefix(64)) }
        }
        return nil
    }

    private static let preludes: Set = [
        "nice", "ionice", "exec", "env", "sudo", "chronic", "time", "if", "then", "else", "!",
    ]
    /// Words that only lead up to the command, or close it.
    private static let tests: Set<Substring> = [
        "cd", "test", "[", "[[", "sleep", "command", ":", "fi", "done",
    ]
    private static let interpreters: Set = [
        "sh", "bash", "dash", "perl", "php", "python", "python3", "ruby", "node", "run-parts",
    ]

    private static func baseName(_ word: Substring) -> String {
        String(word.split(separator: "/").last ?? word)
    }
}
