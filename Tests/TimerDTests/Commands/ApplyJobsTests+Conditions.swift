// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// What a change may say of the jobs that it was made of.
extension ApplyJobsTests {
    @Test(
        "A job that somebody has changed since it was read is not ended, nor is anything else done",
        arguments: [false, true]
    )
    func endOfChanged(isUpload: Bool) async throws {
        try await TestScheduler.with { test in
            let read = try await add(test, Self.definition())
            let other = try await add(test, Self.definition { $0.name = "other" })
            let new = Self.definition { $0.command = ["new"] }
            let changed = try #require(try await apply(test, revision(read, new)).changed.first)
            let late = ApplyJobs(ending: [other, read])
            let conflict = ControlError.changedMeanwhile(try await test.job(read.id), since: 1)
            await #expect(throws: conflict) {
                try await send(test, late, isUpload: isUpload)
            }
            #expect(try await test.job(read.id).state == .scheduled)
            #expect(try await test.job(other.id).state == .scheduled)
            try await send(test, ApplyJobs(ending: [other, changed]), isUpload: isUpload)
            #expect(try await test.job(read.id).state == .invalidated)
            #expect(try await test.job(other.id).state == .invalidated)
            // Who wanted it ended has it ended.
            try await send(test, late, isUpload: isUpload)
        }
    }

    /// Sends it as it is, or as the one part of an upload.
    private func send(_ test: TestScheduler, _ request: ApplyJobs, isUpload: Bool) async throws {
        guard isUpload else {
            try await apply(test, request)
            return
        }
        let part = Request.putPart(PutPart(upload: "big", part: 0, jobs: request))
        _ = try await test.handler().handle(part, from: 0).get()
        let whole = Request.applyJobs(ApplyJobs(upload: "big"))
        _ = try await test.handler().handle(whole, from: 0).get()
    }

    @Test("What is to end is an id, or an object of an id and a revision, and nothing else")
    func endsOnTheWire() throws {
        func read(_ elements: String) throws -> ApplyJobs? {
            let text =
                #"{"jsonrpc":"2.0","id":1,"method":"job.apply","params":{"invalidate":[\#(elements)]}}"#
            guard case .single(let line) = try RequestLine(parsing: Array(text.utf8)),
                case .applyJobs(let request) = try line.request.get()
            else { return nil }
            return request
        }
        let both = try read(#"7,{"id":8,"ifRevision":3},{"id":9}"#)
        #expect(both?.invalidate.map(\.rawValue) == [7, 8, 9])
        #expect(both?.ifRevisions == [JobID(rawValue: 8): 3])
        for wrong in [#"{"id":8},"a""#, #"{"id":8,"name":"a"}"#] {
            let error = #expect(throws: ControlError.self) { try read(wrong) }
            #expect(error?.message.contains("invalidate[") == true, "\(wrong)")
        }
    }
}
