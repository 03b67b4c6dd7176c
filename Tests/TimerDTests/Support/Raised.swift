// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A program that is setuid root and becomes root altogether; it is made by root, as no user can make it.
enum Raised {
    static let compiler = ["cc", "clang", "gcc"].first(where: Shell.has)
    static var works: Bool { compiler != nil }

    static func make(in folder: String) async throws -> String {
        let program = folder + "/raised"
        let source = """
            #include <stdio.h>
            #include <unistd.h>
            int main(int count, char **words) {
                if (setuid(0) != 0 || count != 2 || chdir("\(folder)") != 0) return 1;
                FILE *file = fopen(words[1], "w");
                fprintf(file, "%d\\n", getpid());
                fclose(file);
                fclose(stdout);
                fclose(stderr);
                // Not for ever, should a test be ended before it ends this.
                sleep(300);
                return 0;
            }
            """
        try await Tool.run([compiler ?? "cc", "-x", "c", "-o", program, "-"], input: source)
        chmod(program, 0o4755)
        return program
    }

    /// Ends those that say in the folder that they are there.
    static func end(in folder: String) {
        for name in ["leader", "child"] {
            guard let text = readFile("\(folder)/\(name)"), let pid = pid_t(text.dropLast()),
                readFile("/proc/\(pid)/cmdline")?.hasPrefix(folder) == true
            else { continue }
            Glibc.kill(pid, SIGKILL)
        }
    }
}
