// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import SQLite

@Suite("Commands on a job of a newer version", .timeLimit(.minutes(2)))
struct UnreadJobCommandTests {
    @Test("Nothing that such a job says is lost without a word")
    func kept() async throws {
        try await DaemonProcess.with { daemon in
            let file = daemon.folder + "/web.yaml"
            try "label: web\njobs: {w: {every: 1h, command: [\"true\"]}}"
                .write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.timerctl("apply", "-f", file)
            await daemon.end(SIGTERM)
            let database = try Database(path: daemon.database, mode: .readWriteCreate)
            try database.execute(
                "UPDATE job_definitions SET definition = json_set(definition, '$.onlyIf', 'x')"
            )
            database.close()
            try await daemon.start()

            let exported = try await daemon.timerctl("export", "--label", "web")
            #expect(exported.status == 0 && exported.output.hasSuffix("jobs: {}\n"))
            let reason = "this version does not understand its 'onlyIf'"
            #expect(exported.errors == "note: job 1 is left out: \(reason)\n")
            let edited = try await daemon.timerctl("edit", "w")
            #expect(edited.status == 1 && edited.errors.contains("cannot be edited: \(reason)"))
            for command in [
                ["change", "w", "--every", "2h"], ["rename", "w", "v"], ["copy", "w", "v"],
            ] {
                let refused = try await daemon.timerctl(command)
                #expect(refused.status == 1, "\(command)")
                #expect(refused.errors.contains("cannot be changed or copied"), "\(command)")
            }
            #expect(try await daemon.job(1)["state"] == .string("scheduled"))

            let applied = try await daemon.timerctl("apply", "-f", file)
            #expect(
                applied.output == """
                    ~ w (replaces job 1, which cannot be read: its id and its history end)
                        dropped: onlyIf, userInfo if it has any
                    web: 0 to add, 1 to change (1 of them by another job), 0 to remove, 0 unchanged

                    """
            )
            #expect(applied.status == 0, "\(applied.errors)")
            #expect(try await daemon.job(1)["endReason"] == .string("replaced"))
            let again = try await daemon.timerctl("apply", "-f", file, "--dry-run", "--exit-code")
            #expect(again.status == 0, "\(again.output)")

            let replaced = try await daemon.timerctl("undo")
            let words = "cannot come back: it cannot be read: "
            #expect(replaced.status == 1)
            #expect(
                replaced.errors.contains("job 1 was replaced by another, and \(words)"),
                "\(replaced.errors)"
            )
            await daemon.end(SIGTERM)
            let second = try Database(path: daemon.database, mode: .readWriteCreate)
            try second.execute(
                """
                UPDATE job_definitions SET definition = json_set(definition, '$.onlyIf', 'x')
                WHERE job_id = 2
                """
            )
            second.close()
            try await daemon.start()
            #expect(try await daemon.timerctl("invalidate", "2").status == 0)
            let invalidated = try await daemon.timerctl("undo")
            #expect(invalidated.status == 1)
            #expect(invalidated.errors.contains("job 2 \(words)"), "\(invalidated.errors)")
        }
    }

    @Test("An undo leaves out the job that an apply has replaced as it could not be read")
    func leftOut() async throws {
        try await DaemonProcess.with { daemon in
            let file = daemon.folder + "/web.yaml"
            let kept = "w: {every: 1h, command: [\"true\"]}"
            try "label: web\njobs: {a: {every: 1h, command: [\"true\"]}, \(kept)}"
                .write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.timerctl("apply", "-f", file)
            await daemon.end(SIGTERM)
            let database = try Database(path: daemon.database, mode: .readWriteCreate)
            try database.execute(
                """
                UPDATE job_definitions SET definition = json_set(definition, '$.onlyIf', 'x')
                WHERE job_id = 2
                """
            )
            database.close()
            try await daemon.start()
            try "label: web\njobs: {\(kept)}"
                .write(toFile: file, atomically: false, encoding: .utf8)
            #expect(try await daemon.timerctl("apply", "-f", file).status == 0)
            #expect(try await daemon.job(1)["endReason"] == .string("invalidated"))
            #expect(try await daemon.job(2)["endReason"] == .string("replaced"))

            let undone = try await daemon.timerctl("undo")
            #expect(undone.status == 0, "\(undone.errors)")
            #expect(try await daemon.job(1)["state"] == .string("scheduled"))
            let refused = try await daemon.timerctl("undo")
            #expect(refused.status == 1)
            #expect(refused.errors.contains("job 2 was replaced by another"), "\(refused.errors)")
            #expect(refused.errors.contains("; 'timerctl undo JOB...' brings back others"))
        }
    }
}
