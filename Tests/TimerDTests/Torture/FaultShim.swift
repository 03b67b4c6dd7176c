// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Subprocess
import SystemPackage

@testable import TimerD

/// Tests/FaultShim/faults.c, loaded into one daemon: what is to go wrong between it and its system.
///
/// The page is shared memory, so that faults begin and end while the daemon runs.
final class FaultShim: Sendable {
    /// In the order of `enum fault`.
    enum Fault: Int, CaseIterable {
        case writeFails, writeNoSpace, writeShort, writeHalf, syncFails, truncateFails, readFails
        case readOnly
    }

    private let folder: String
    private let daemon: DaemonProcess
    /// Words of 8 bytes: the layout of `struct page`.
    ///
    /// Shared with another process, whose reads and writes of single words the tests can bear in any
    /// order.
    private nonisolated(unsafe) let page: UnsafeMutablePointer<Int64>
    private static let size = 4096

    /// Builds the library beside the daemon's files.
    ///
    /// - Throws: what the compiler says.
    init(_ daemon: DaemonProcess) async throws {
        self.daemon = daemon
        folder = daemon.folder + "/shim"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // The compiler that comes with Swift.
        try await Tool.run(
            ["clang", "-shared", "-fPIC", "-O1", "-o", folder + "/faults.so", Self.source],
            path: ProcessInfo.processInfo.environment["PATH"]
        )
        let file = Glibc.open(folder + "/page", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        ftruncate(file, off_t(Self.size))
        let map = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        close(file)
        guard let map, map != MAP_FAILED else { throw Tool.Failed(text: "mmap of \(folder)/page") }
        page = map.assumingMemoryBound(to: Int64.self)
    }

    deinit { munmap(page, Self.size) }

    private static let source: String = {
        let here = #filePath.components(separatedBy: "/Tests/")[0]
        return here + "/Tests/FaultShim/faults.c"
    }()

    var journal: String { folder + "/journal" }

    /// What runs the daemon with the library.
    func wrapper(keepsJournal: Bool = false, shiftsClock: Bool = false) -> [String] {
        DaemonProcess.roomy + [
            "FAULTS_DATABASE=\(daemon.database)", "FAULTS_PAGE=\(folder)/page",
            "LD_PRELOAD=\(folder)/faults.so",
        ] + (keepsJournal ? ["FAULTS_JOURNAL=\(journal)"] : [])
            + (shiftsClock ? ["FAULTS_CLOCK=1"] : [])
    }

    /// From now on one call in `oneIn` of those that can fail so does; none for 0.
    func set(_ fault: Fault, oneIn: Int) { page[1 + fault.rawValue] = Int64(oneIn) }

    func end() { for fault in Fault.allCases { set(fault, oneIn: 0) } }

    func setSeed(_ seed: UInt64) { page[0] = Int64(bitPattern: seed) }

    /// How many calls have failed.
    var injected: [Fault: Int] {
        let count = Fault.allCases.count
        return Dictionary(
            uniqueKeysWithValues: Fault.allCases.map { ($0, Int(page[1 + count + $0.rawValue])) }
        )
    }

    /// Sets the wall clock that the daemon sees forward by so many microseconds, from the machine's.
    ///
    /// `atSet`: just before the daemon sets its timer for a date the next time, which is then what tells it.
    func shiftClock(_ microseconds: Int64, atSet: Bool = false) {
        page[3 + 2 * Fault.allCases.count] = atSet ? 1 : 0
        page[2 + 2 * Fault.allCases.count] = microseconds * 1000
    }
}
