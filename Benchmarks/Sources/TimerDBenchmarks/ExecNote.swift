// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules

/// A program whose first act is to read the clock: it appends to a file by how much it is late.
///
/// In C and linked statically, so that neither a shell nor the dynamic linker is measured.
struct ExecNote {
    private let program: String
    private var file: String

    /// Compiles it, into `folder`.
    init(in folder: TemporaryFolder) throws {
        program = folder.file("exec-note")
        file = folder.file("exec-notes")
        let source = folder.file("exec-note.c")
        try Self.source.write(toFile: source, atomically: false, encoding: .utf8)
        _ = try ChildProgram.run(["cc", "-O2", "-static", "-o", program, source])
    }

    /// The same program, with a file of its own.
    var beside: ExecNote {
        var other = self
        other.file += "-beside"
        return other
    }

    /// What to run at `date`.
    func command(at date: Timestamp) -> [String] { [program, file, "\(date.microseconds)"] }

    /// The lateness of all that has run since the last call, in ms.
    func take() throws -> [Double] {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try FileManager.default.removeItem(atPath: file)
        return text.split(separator: "\n").compactMap { Double($0).map { $0 / 1000 } }
    }

    private static let source = """
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <time.h>
        #include <unistd.h>
        int main(int count, char **words) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (count != 3) return 2;
            char line[32];
            int length = snprintf(line, sizeof line, "%lld\\n",
                now.tv_sec * 1000000LL + now.tv_nsec / 1000 - atoll(words[2]));
            int file = open(words[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
            return write(file, line, length) == length ? 0 : 1;
        }
        """
}
