// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Foundation
import Locks
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// A connection without any of timerd's care, as other programs have.
final class Outsider {
    private var handle: OpaquePointer?

    init(_ path: String) throws {
        try #require(sqlite3_open(path, &handle) == SQLITE_OK)
    }

    deinit {
        sqlite3_close(handle)
    }

    func execute(_ sql: String) throws {
        let result = sqlite3_exec(handle, sql, nil, nil, nil)
        try #require(result == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle)))")
    }
}

/// Expects that the process was stopped by a precondition, not by an error on the way to it.
func expectStopped(
    _ result: ExitTest.Result?,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    guard case .signal = result?.exitStatus else {
        Issue.record("\(String(describing: result?.exitStatus))", sourceLocation: sourceLocation)
        return
    }
}

/// A database whose files are gone already, for a test that ends its process.
func openUnlinked() throws -> Database {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    return try Database(path: folder.file("timerd.db"), mode: .readWriteCreate)
}

extension Data {
    func write(to path: String) throws {
        try write(to: URL(fileURLWithPath: path))
    }
}

/// Expects that `body` throws an error whose text is `description`.
func expectError<T>(
    _ description: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> T
) {
    let error = #expect(throws: (any Error).self, sourceLocation: sourceLocation) { try body() }
    #expect(error.map { "\($0)" } == description, sourceLocation: sourceLocation)
}

/// What several threads append to, in the order in which they did.
final class Notes: Sendable {
    private let notes = Locked<[String]>([])

    var all: [String] { notes.withLock { $0 } }

    func add(_ note: String) {
        notes.withLock { $0.append(note) }
    }
}

/// Keeps the thread busy while `body` queues, so that what it queues becomes one batch.
func inOneBatch(of thread: StoreThread, _ body: () -> Void) {
    let isBusy = DispatchSemaphore(value: 0)
    let isQueued = DispatchSemaphore(value: 0)
    thread.perform {
        isBusy.signal()
        isQueued.wait()
    }
    isBusy.wait()
    body()
    isQueued.signal()
}

extension EventLog {
    /// The events after a number, of a log that can all be read.
    func events(after seq: Int64, owner: OwnerID? = nil, limit: Int) throws -> [Event] {
        try read(after: seq, owner: owner, limit: limit).events
    }
}
