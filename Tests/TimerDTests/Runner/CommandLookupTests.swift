// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
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

    @Test(
        "Of a run on another node whose own words are lost nothing is named that is known there alone",
        arguments: [
            (cspawn_step_directory, "cannot enter its working directory"),
            (cspawn_step_uid, "cannot become its owner"),
            (cspawn_step_exec, "cannot run 'tool'"),
        ]
    )
    func elsewhere(step: cspawn_step, words: String) {
        var request = TestRunner.request(["tool"])
        (request.node, request.user) = ("b", "ann")
        var report = cspawn_report()
        (report.step, report.error, report.file) = (Int32(step.rawValue), 2, 2)
        let refusal = CommandLookup(request).refusal(report)
        #expect(refusal.message == "\(words): no such file or directory")
    }

    @Test(
        "What fails on the way to the command is named, and not the command",
        arguments: [
            (cspawn_step_session, "cannot make a session for the run (setsid)"),
            (cspawn_step_descriptors, "cannot set up the run's descriptors"),
        ]
    )
    func ahead(step: cspawn_step, words: String) {
        var report = cspawn_report()
        (report.step, report.error, report.file) = (Int32(step.rawValue), EPERM, -1)
        let refusal = CommandLookup(TestRunner.request(["tool"])).refusal(report)
        #expect(refusal.message == "\(words): operation not permitted")
    }

    @Test(
        "Why a PAM session was not opened is told in the words of the report, else that its process has ended",
        arguments: [
            ("it took longer than 60 s", "it took longer than 60 s"),
            ("", "the process that was to open it has ended"),
        ]
    )
    func session(head: String, why: String) {
        var request = TestRunner.request(["ls"])
        request.user = "ann"
        var report = cspawn_report()
        report.step = Int32(cspawn_step_session_opening.rawValue)
        (report.error, report.file) = (0, -1)
        withUnsafeMutableBytes(of: &report.head) { $0.copyBytes(from: head.utf8) }
        report.head_count = Int32(head.utf8.count)
        let refusal = CommandLookup(request).refusal(report)
        #expect(refusal.message == "cannot open a PAM session for 'ann': \(why)")
    }

    @Test("That a user has as many processes as may be is told as the reason")
    func processes() {
        var report = cspawn_report()
        report.step = Int32(cspawn_step_exec.rawValue)
        (report.error, report.file) = (EAGAIN, 0)
        let refusal = CommandLookup(TestRunner.request(["/bin/ls"])).refusal(report)
        let words = "its user has as many processes as may be (ulimit -u)"
        #expect(refusal.message == "cannot run '/bin/ls': \(words)")
    }

    @Test(
        "A credential that cannot be read is named by its whole path, or by its beginning where that is cut",
        arguments: [("/s/token", "b"), ("/s/token-old", "a"), (long, "c"), ("/s/tok", "")]
    )
    func secret(path: String, name: String) {
        var request = TestRunner.request(["ls"])
        request.secrets = [
            RunSecret(name: "a", path: "/s/token-old"), RunSecret(name: "b", path: "/s/token"),
            RunSecret(name: "c", path: Self.long),
        ]
        var report = cspawn_report()
        report.step = Int32(cspawn_step_secret_source.rawValue)
        report.error = 2
        let head = path.utf8.prefix(256)
        withUnsafeMutableBytes(of: &report.head) { $0.copyBytes(from: head) }
        report.head_count = Int32(head.count)
        #expect(
            CommandLookup(request).refusal(report).message
                .hasPrefix("cannot read credential '\(name)' from '")
        )
    }

    private static let long = "/s/" + String(repeating: "x", count: 300)

    @Test("Without a PATH it is looked for where runs look by default")
    func defaultPath() {
        var request = TestRunner.request(["ls"])
        request.environment["PATH"] = nil
        let folders = RunEnvironment.path.split(separator: ":")
        #expect(CommandLookup(request).files == folders.map { "\($0)/ls" })
    }
}
