// SPDX-License-Identifier: Apache-2.0

import Schedules
import TestPostgres
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// Whose row is whose.
extension SharedStoreTests {
    @Test(
        "The row with the uid of a daemon's user is that user's, but where hosts share jobs",
        arguments: [true, false]
    )
    func ownRow(isShared: Bool) async throws {
        let folder = try TemporaryFolder()
        let store = try Store.test(folder.path, isShared: false, now: TestScheduler.start)
        let (uid, name) = (UInt32(4_000_000_123), "timerd-test-of-another-host")
        try await store.writer.write {
            _ = try Owners($0).row(of: Owner(uid: uid, name: name))
        }
        try await store.nameOwners(Owner(uid: uid, name: "own"), isShared: isShared)
        let names = try await store.writer.write { try Owners($0).all().map(\.owner.name) }
        #expect(names == [isShared ? name : "own"])
        try await store.close()
    }
}
