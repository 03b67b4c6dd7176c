// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Testing

@testable import SQLite
@testable import TimerD

/// Copies and checks that are asked for while others are in progress.
@Suite("DatabaseMaintenance", .timeLimit(.minutes(1))) struct DatabaseMaintenanceTests {
    private let folder: TemporaryFolder
    private let care: DatabaseMaintenance

    init() throws {
        folder = try TemporaryFolder()
        let path = folder.file("timerd.db")
        try Database(path: path, mode: .readWriteCreate).execute("CREATE TABLE numbers (number)")
        care = DatabaseMaintenance(path: path)
    }

    @Test("They wait for each other in turn; one that is given up waits no longer")
    func turns() async throws {
        let (care, gate) = (care, DispatchSemaphore(value: 0))
        let notes = Notes()
        let (begun, isBegun) = AsyncStream.makeStream(of: Void.self)
        let first = Task {
            try await care.inTurn {
                isBegun.finish()
                gate.wait()
                notes.add("first")
            }
        }
        for await _ in begun {}
        // Each runs up to its place in the line before this goes on.
        let second = Task.immediate { try await care.inTurn { notes.add("second") } }
        let givenUp = Task.immediate { try await care.inTurn { notes.add("given up") } }
        let check = Task.immediate { try await care.check() }
        givenUp.cancel()
        await #expect(throws: CancellationError.self) { try await givenUp.value }
        // What is in progress goes on.
        first.cancel()
        #expect(notes.all.isEmpty)
        gate.signal()
        try await first.value
        try await second.value
        #expect(try await check.value == [])
        #expect(notes.all == ["first", "second"])
        let gone = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await care.inTurn { notes.add("gone") }
        }
        await #expect(throws: CancellationError.self) { try await gone.value }
    }

    @Test("What is too damaged for a check is told as what it found")
    func damaged() async throws {
        let path = folder.file("damaged.db")
        try Data(repeating: 0x78, count: 8192).write(to: URL(fileURLWithPath: path))
        let problems = try await DatabaseMaintenance(path: path).check()
        #expect(problems.count == 1 && problems[0].contains("is not an SQLite database"))
    }
}
