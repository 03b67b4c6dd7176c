// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Runner
@testable import TimerD

@Suite("CommandLookup") struct CommandLookupTests {
    @Test(
        "A command is the file that it names, or one of that name in an absolute folder of PATH",
        arguments: [
            ("/bin/ls", "/usr/bin", ["/bin/ls"]),
            ("./run", "/usr/bin", ["./run"]),
            ("a/b", "/usr/bin", ["a/b"]),
            ("ls", "/usr/bin:/bin", ["/usr/bin/ls", "/bin/ls"]),
            // What is relative, or empty, would be the working directory, which may be anybody's.
            ("ls", ".:/bin:sbin:", ["/bin/ls"]),
            ("ls", "", []),
            ("ls", "::", []),
        ] as [(String, String, [String])]
    )
    func files(command: String, path: String, files: [String]) {
        var request = TestRunner.request([command])
        request.environment["PATH"] = path
        #expect(CommandLookup(request).files == files)
    }

    @Test("Without a PATH it is looked for where runs look by default")
    func defaultPath() {
        var request = TestRunner.request(["ls"])
        request.environment["PATH"] = nil
        let folders = RunEnvironment.path.split(separator: ":")
        #expect(CommandLookup(request).files == folders.map { "\($0)/ls" })
    }
}
