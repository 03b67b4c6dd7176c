// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

@Suite("Little memory at a start", .timeLimit(.minutes(3)))
struct LittleMemoryTests {
    /// In MiB; with the first, libdispatch waited for ever for a thread that could not be made.
    ///
    /// A debug build needs some 98 to load its libraries.
    ///
    /// Not under a sanitizer, which needs more than that for itself.
    @Test(
        "It ends with an error that names the limit",
        .disabled(if: Machine.isSlow),
        arguments: [112, 128]
    )
    func limit(size: Int) async throws {
        let folder = try TemporaryFolder()
        let words = [
            "exec prlimit --as=\(size << 20) \(DaemonProcess.programs)/timerd",
            "--database \(folder.file("timerd.db")) --socket \(folder.file("timerd.sock"))",
        ]
        let script = "(\(words.joined(separator: " "))) 2>&1; echo $?"
        let output = try await Tool.run(["sh", "-c", script])
        #expect(output.contains("the address space is limited to \(size) MiB"), "\(output)")
        #expect(output.hasSuffix("78\n"), "\(output)")
    }
}
