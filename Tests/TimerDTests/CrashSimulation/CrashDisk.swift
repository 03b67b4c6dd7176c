// SPDX-License-Identifier: Apache-2.0

import CCrashDisk

@testable import SQLite
@testable import TimerD

/// A disk in memory that loses what was not synced, and fails as it is told to.
///
/// Unchecked: the one thread that a simulation runs on is the only one to use it.
final class CrashDisk: Disk, @unchecked Sendable {
    enum Fault: UInt32, CaseIterable {
        case full = 1
        case noWrite = 2
        case noSync = 3
        case noRead = 4
    }

    static let database = "/disk/timerd.db"

    let vfs: String?
    private let disk: OpaquePointer

    /// `name`: of its VFS, which no other disk may have at the same time.
    init(name: String, seed: UInt64) {
        vfs = name
        crash_disk_seed_sqlite(UInt32(truncatingIfNeeded: seed))
        disk = crash_disk_make(name, seed)
    }

    deinit { crash_disk_free(disk) }

    func size(of path: String) throws(DatabaseError) -> Int? {
        let size = crash_disk_size(disk, path)
        return size < 0 ? nil : Int(size)
    }

    /// Nobody takes a file away here.
    func identity(of path: String, isItself: Bool) -> FileIdentity? {
        FileIdentity(device: 0, inode: 0)
    }

    func target(ofLink path: String) -> String? { nil }

    func create(_ path: String) throws(DatabaseError) {
        try check(crash_disk_create(disk, path), "create", path)
    }

    func rename(_ path: String, to name: String) throws(DatabaseError) {
        try check(crash_disk_rename(disk, path, name), "create", name)
    }

    private func check(_ code: Int32, _ what: String, _ path: String) throws(DatabaseError) {
        guard code != 0 else { return }
        throw DatabaseError(code: code, message: "cannot \(what) '\(path)'", path: path)
    }

    // MARK: - What was done

    var operations: Int64 { crash_disk_operations(disk) }
    var trace: UInt64 { crash_disk_trace(disk) }
    /// The newest operations, a line each.
    var story: String { String(cString: crash_disk_story(disk)) }
    var openFiles: Int { Int(crash_disk_open_files(disk)) }

    // MARK: - What goes wrong

    var hasCrashed: Bool { crash_disk_has_crashed(disk) != 0 }
    var fault: Fault? { Fault(rawValue: crash_disk_current_fault(disk).rawValue) }

    /// The operation of this number is the last that is done, if at all.
    func crash(at operation: Int64) { crash_disk_crash_at(disk, operation) }
    func crash() { crash_disk_crash(disk) }
    func fail(at operation: Int64, _ fault: Fault) {
        crash_disk_fail_at(disk, operation, crash_disk_fault(rawValue: fault.rawValue))
    }
    func repair() { crash_disk_set_fault(disk, CRASH_DISK_SOUND) }
    func neverFail() { crash_disk_fail_at(disk, 0, CRASH_DISK_SOUND) }

    /// What `body` says while nothing goes wrong: for who looks on.
    func withoutFault<T>(_ body: () throws -> T) rethrows -> T {
        let fault = crash_disk_set_fault(disk, CRASH_DISK_SOUND)
        defer { crash_disk_set_fault(disk, fault) }
        return try body()
    }

    /// After a crash: all that was written is there, or by chance what was not synced is not.
    func restart(losingPower: Bool) {
        if losingPower { crash_disk_lose_power(disk) } else { crash_disk_restart(disk) }
    }
}
