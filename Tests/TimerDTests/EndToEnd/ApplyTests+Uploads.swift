// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerControl

@testable import SQLite

/// What applies that were broken off leave behind.
extension ApplyTests {
    @Test("Parts of a command that was broken off make room for others an hour after it began")
    func abandoned() async throws {
        try await DaemonProcess.with { daemon in
            // As many as all uploads of a user may have: most of a command of timerctl, one of another client.
            let client = try await ControlClient.connect(to: daemon.socket)
            for part in 0..<10 {
                let ids = (1...(part == 9 ? 9999 : 10_000)).map { JobID(rawValue: $0) }
                let put = PutPart(
                    upload: "timerctl-1",
                    part: part,
                    jobs: ApplyJobs(invalidate: ids)
                )
                let _: UploadReply = try await client.call(.putPart(put))
            }
            let one = ApplyJobs(invalidate: [JobID(rawValue: 1)])
            let own = PutPart(upload: "own", part: 0, jobs: one)
            let _: UploadReply = try await client.call(.putPart(own))

            let file = try large(daemon)
            let refused = try await daemon.timerctl("apply", "-f", file)
            #expect(refused.status == 1)
            #expect(refused.errors.contains("your uploads would hold"), "\(refused.errors)")
            let words = "; other commands of timerctl have begun 1 of them: one that was broken off"
            #expect(refused.errors.contains(words), "\(refused.errors)")

            await daemon.end(SIGTERM)
            let database = try Database(path: daemon.database, mode: .readWriteCreate)
            try database.execute("UPDATE upload_parts SET kept_at_us = kept_at_us - 7200000000")
            database.close()
            try await daemon.start()
            let applied = try await daemon.timerctl("apply", "-f", file)
            #expect(applied.errors == "many: 15 added, 0 changed, 0 removed, 0 unchanged\n")
            let again = try await ControlClient.connect(to: daemon.socket)
            let kept: UploadsReply = try await again.call(.listUploads)
            #expect(kept.uploads.map(\.name) == ["own"], "not timerctl's to drop")
        }
    }
}
