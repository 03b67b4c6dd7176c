// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import TimerD

/// A daemon whose files may not grow beyond a size: LimitFSIZE=, ulimit -f.
@Suite("The limit of a file's size", .timeLimit(.minutes(2))) struct FileSizeLimitTests {
    @Test(
        "At the limit a request is refused with it, the daemon goes on, and runs ignore no signal"
    )
    func limit() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            // The next has the limit too.
            let runnersEnd = daemon.database + "-runner-epoch"
            try await eventually("the runner has ended") { access(runnersEnd, F_OK) == 0 }
            let limited = ["sh", "-c", #"ulimit -f 1200; exec "$@""#, "sh"]
            try await daemon.start(through: limited)

            let look = try await daemon.timerctl(
                "add",
                "--in",
                "1ms",
                "--",
                "grep",
                "-E",
                "^Sig(Blk|Ign)",
                "/proc/self/status"
            )
            let run = try await daemon.finishedRun(look.output.trimmingCharacters(in: .newlines))
            let id = try #require(run.id)
            let masks = try await daemon.timerctl("logs", "--run", "\(id)").output
                .split(separator: "\n").compactMap { UInt64($0.suffix(16), radix: 16) }
            #expect(masks == [0, 0])

            var refusal: DaemonProcess.Answer?
            let word = String(repeating: "x", count: 20_000)
            for _ in 0..<200 where refusal == nil {
                let added = try await daemon.timerctl("add", "--every", "1h", "--", "true", word)
                if added.status != 0 { refusal = added }
            }
            let words = try #require(refusal).errors
            #expect(words.contains("LimitFSIZE= or ulimit -f limits files to"), "\(words)")
            #expect(try await daemon.timerctl("list").status == 0)
            // With more room it takes jobs again.
            await daemon.end(SIGKILL)
            try await daemon.start()
            let added = try await daemon.timerctl("add", "--every", "1h", "--", "true", word)
            #expect(added.status == 0, "\(added.errors)")
        }
    }

    @Test("A backup that would be larger is refused with the limit")
    func backup() async throws {
        try await DaemonProcess.with { daemon in
            let word = String(repeating: "x", count: 100_000)
            for _ in 0..<12 {
                let added = try await daemon.timerctl("add", "--every", "1h", "--", "true", word)
                #expect(added.status == 0, "\(added.errors)")
            }
            await daemon.end(SIGTERM)
            try await daemon.start(through: ["sh", "-c", #"ulimit -f 800; exec "$@""#, "sh"])
            let file = daemon.folder + "/copy.db"
            let refused = try await daemon.timerctl("backup", file)
            #expect(refused.status != 0)
            let words =
                "cannot write '\(file)': there is no more room on its disk; LimitFSIZE= or ulimit -f limits files to"
            #expect(refused.errors.contains(words), "\(refused.errors)")
            #expect(access(file, F_OK) != 0)
            #expect(access(file + ".timerd-copy", F_OK) != 0)
        }
    }

    @Test("A restore that would be larger names its own file and the limit, as a new database does")
    func restore() async throws {
        try await DaemonProcess.with { daemon in
            let word = String(repeating: "x", count: 100_000)
            for _ in 0..<12 {
                let added = try await daemon.timerctl("add", "--every", "1h", "--", "true", word)
                #expect(added.status == 0, "\(added.errors)")
            }
            let file = daemon.folder + "/copy.db"
            #expect(try await daemon.timerctl("backup", file).status == 0)
            await daemon.end(SIGTERM)
            /// What timerd says that may make files of so many blocks.
            func refusal(_ blocks: Int, _ options: String...) async -> String? {
                let words = ["sh", "-c", "ulimit -f \(blocks); exec \"$@\"", "sh"]
                let timerd = [DaemonProcess.programs + "/timerd"]
                let failed = await #expect(throws: Tool.Failed.self) {
                    try await Tool.run(words + timerd + options)
                }
                return failed?.text
            }
            let limit = "; LimitFSIZE= or ulimit -f limits files to"
            let restore = await refusal(800, "--restore", file, "--database", daemon.database)
            let copy = daemon.database + ".timerd-copy/copy"
            let words = "cannot write '\(copy)': file too large" + limit
            #expect(restore?.contains(words) == true, "\(restore ?? "")")
            let (new, socket) = (daemon.folder + "/new.db", daemon.folder + "/new.socket")
            let start = await refusal(1, "--database", new, "--socket", socket)
            let other = "cannot create '\(new)': disk I/O error (file too large)" + limit
            #expect(start?.contains(other) == true, "\(start ?? "")")
        }
    }
}
