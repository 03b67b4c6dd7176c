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
        let output = try await start(under: "--as=\(size << 20)")
        #expect(output.contains("the address space is limited to \(size) MiB"), "\(output)")
        #expect(output.hasSuffix("78\n"), "\(output)")
    }

    @Test(
        "So it does where its data are limited, with which it waited for ever as well",
        .disabled(if: Machine.isSlow)
    )
    func data() async throws {
        let output = try await start(under: "--data=\(64 << 20)")
        #expect(output.contains("its data are limited to 64 MiB (ulimit -d"), "\(output)")
        #expect(output.hasSuffix("78\n"), "\(output)")
    }

    /// What a start says under a limit, and its status.
    private func start(under limit: String) async throws -> String {
        let folder = try TemporaryFolder()
        let words = [
            "exec prlimit \(limit) \(DaemonProcess.programs)/timerd",
            "--database \(folder.file("timerd.db")) --socket \(folder.file("timerd.sock"))",
        ]
        return try await Tool.run(["sh", "-c", "(\(words.joined(separator: " "))) 2>&1; echo $?"])
    }
}
