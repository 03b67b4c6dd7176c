// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemPackage
import Testing

@testable import LinuxSystem

/// Lines for a descriptor that refuses them for a while.
@Suite("Lines that are refused", .timeLimit(.minutes(1))) struct LineWriterTests {
    private func open(_ path: String) throws -> Int32 {
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        try #require(descriptor != -1)
        return descriptor
    }

    /// A file in memory that can be sealed: memfd_create(2), which Glibc's module leaves out.
    private func memoryFile() throws -> Int32 {
        typealias Create = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32
        let symbol = try #require(dlsym(nil, "memfd_create"))
        let mayBeSealed: UInt32 = 2
        let file = unsafeBitCast(symbol, to: Create.self)("lines", mayBeSealed)
        try #require(file != -1)
        return file
    }

    /// What has come through a pipe.
    private func read(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }

    @Test("What a full disk has refused is counted, and told as soon as it takes lines again")
    func fullDisk() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let file = try open("/dev/full")
        defer { close(file) }
        var writer = LineWriter(to: file, of: "record")
        #expect(writer.write(Array("one\ntwo\n".utf8)) == .noSpace)
        #expect(writer.write(Array("three\n".utf8)) == .noSpace)
        try #require(dup2(ends[1], file) == file)
        #expect(writer.write(Array("four\n".utf8)) == nil)
        #expect(writer.write(Array("five\n".utf8)) == nil)
        #expect(
            read(ends[0]) == """
                timerd: 3 records left out here, as they could not be written: no space left on device
                four
                five

                """
        )
    }

    @Test("A line that was cut is ended, and counts as missing")
    func cut() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        // A file that cannot grow.
        let file = try memoryFile()
        defer { close(file) }
        let size = Int(getpagesize())
        let addSeals: Int32 = 1033
        let growSeal: Int32 = 4
        try #require(ftruncate(file, size) == 0 && fcntl(file, addSeals, growSeal) == 0)
        var writer = LineWriter(to: file, of: "line")
        let long = [UInt8](repeating: UInt8(ascii: "z"), count: size)
        // In two, for how much of a write over its end it takes is the kernel's affair.
        #expect(writer.write(long) == nil)
        #expect(writer.write(Array("\n".utf8)) == .notPermitted)
        try #require(dup2(ends[1], file) == file)
        #expect(writer.write(Array("next\n".utf8)) == nil)
        #expect(
            read(ends[0]) == """

                timerd: a line left out here, as it could not be written: operation not permitted
                next

                """
        )
    }
}
