// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Locks
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What runs write, on its way to a journal that takes it, or does not.
@Suite("Run journal", .timeLimit(.minutes(3))) struct RunJournalTests {
    private let records = RecordedLog()
    private let passed = Passed()

    private func journal(at address: String) -> RunJournal {
        RunJournal(to: address, log: records.logger) { [passed] runs in
            passed.runs.withLock { $0.merge(runs) { _, new in new } }
        }
    }

    private func run(_ journal: RunJournal, named name: String? = "backup") -> RunOutput {
        let output = RunOutput(limit: 64)
        let owner = Owner(uid: 1001, name: "ann")
        let fields = RunJournal.Fields(job: "3", name: name, run: "7", owner: owner)
        output.echo(
            to: RunEcho { line in
                journal.write(
                    RunJournal.Line(
                        record: fields.record(line),
                        owner: owner,
                        run: 7,
                        stream: line.stream,
                        end: line.end
                    )
                )
            }
        )
        return output
    }

    private func lines(_ record: String?) -> [Substring] { record?.split(separator: "\n") ?? [] }

    @Test("Each line is a record with its job, its run and its stream")
    func fields() throws {
        let listener = try NotifySocket(isAbstract: false)
        let journal = journal(at: listener.address)
        let output = run(journal)
        output.write("one\ntwo")
        output.write("oops\n", to: .stderr)
        #expect(
            lines(listener.receive()) == [
                "SYSLOG_IDENTIFIER=backup", "TIMERD_JOB_ID=3", "TIMERD_JOB_NAME=backup",
                "TIMERD_RUN_ID=7", "TIMERD_OWNER=ann", "TIMERD_OWNER_UID=1001", "PRIORITY=6",
                "MESSAGE=one",
            ]
        )
        #expect(lines(listener.receive()).suffix(2) == ["PRIORITY=3", "MESSAGE=oops"])
        output.noteStored()
        #expect(lines(listener.receive()).suffix(2) == ["PRIORITY=6", "MESSAGE=two"])
        journal.stop()
        #expect(passed.runs.withLock { $0[7] }?.stdout == 7)
        let nameless = run(self.journal(at: listener.address), named: nil)
        nameless.write("x\n")
        let record = lines(listener.receive())
        #expect(record.first == "SYSLOG_IDENTIFIER=timerd")
        #expect(!record.contains { $0.hasPrefix("TIMERD_JOB_NAME") })
    }

    @Test(
        "What a daemon before has passed on is not said again, and what is not kept is said to be missing"
    )
    func goesOn() throws {
        let listener = try NotifySocket(isAbstract: true)
        let journal = journal(at: listener.address)
        let before = RunOutput(limit: 64)
        before.write("one\ntwo\nthree\n")
        before.write("err\n", to: .stderr)
        let output = run(journal)
        before.copy(to: output, passed: OutputPosition(stdout: 8))
        #expect(lines(listener.receive()).last == "MESSAGE=three")
        #expect(lines(listener.receive()).last == "MESSAGE=err")
        output.append(Array("end\n".utf8)[...], from: 20, at: 0, to: .stdout)
        #expect(lines(listener.receive()).last == "MESSAGE=[6 bytes are left out]")
        #expect(lines(listener.receive()).last == "MESSAGE=end")
        output.end(at: OutputPosition(stdout: 30, stderr: 4))
        output.noteStored()
        #expect(lines(listener.receive()).last == "MESSAGE=[6 bytes are left out]")
        journal.stop()
        #expect(passed.runs.withLock { $0[7] }?.stdout == 30)
    }

    @Test(
        "A journal that is away is told once, and delays nothing; when it is back, it hears what it has missed"
    )
    func away() async throws {
        let folder = try TemporaryFolder()
        let journal = journal(at: folder.file("journal"))
        let output = run(journal)
        for _ in 0..<3 { output.write("lost\n") }
        try await eventually("all of it is given up") { [passed] in
            passed.runs.withLock { $0[7]?.stdout == 15 }
        }
        #expect(records.all.count == 1)
        #expect(
            records.all.first?.hasPrefix("what runs write cannot be written to the journal") == true
        )
        let listener = try NotifySocket(at: folder.file("journal"))
        output.write("back\n")
        let words = "MESSAGE=3 lines of runs of ann left out here, as the journal did not take them"
        #expect(lines(listener.receive()).last.map(String.init) == words)
        #expect(lines(listener.receive()).last == "MESSAGE=back")
        journal.stop()
        #expect(records.all.count == 1)
    }

    @Test(
        "While the journal reads nothing, no run waits, little is kept, and what is left out is told"
    )
    func slow() async throws {
        let listener = try NotifySocket(isAbstract: true)
        let journal = journal(at: listener.address)
        let output = run(journal)
        let line = String(repeating: "z", count: 2000) + "\n"
        for _ in 0..<3000 { output.write(line) }
        let count = Task.detached {
            var (taken, leftOut) = (0, 0)
            while taken + leftOut < 3001 {
                guard let record = listener.receive() else { break }
                guard record.contains("left out here") else {
                    taken += 1
                    continue
                }
                let words = record.split(separator: "=").last?.split(separator: " ")
                leftOut += words?.first.flatMap { Int($0) } ?? 1
            }
            return (taken, leftOut)
        }
        // What tells of the last of them.
        try await eventually("most of it is taken") { [passed] in
            passed.runs.withLock { $0[7] != nil }
        }
        output.write("end\n")
        let (taken, leftOut) = await count.value
        #expect(taken + leftOut == 3001)
        #expect(leftOut > 0)
        journal.stop()
    }

    @Test("Lines that were counted alone are told, though no line follows them")
    func countedAlone() throws {
        let listener = try NotifySocket(isAbstract: true)
        let journal = journal(at: listener.address)
        let output = run(journal)
        output.write("one\n")
        #expect(lines(listener.receive()).last == "MESSAGE=one")
        journal.leaveOut(2, of: Owner(uid: 1001, name: "ann"))
        let words = "MESSAGE=2 lines of runs of ann left out here, as the journal did not take them"
        #expect(lines(listener.receive()).last.map(String.init) == words)
        journal.stop()
    }
}

/// Up to where runs were passed on.
private final class Passed: Sendable {
    let runs = Locked<[Int64: OutputPosition]>([:])
}
