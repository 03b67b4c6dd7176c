// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import LinuxSystem

/// Whose records are written, and whose are left out, where the reader is away for a while.
@Suite("Records that nobody reads", .timeLimit(.minutes(2))) struct RecordQueueTests {
    private static let newline = UInt8(ascii: "\n")
    private static let filler = [UInt8](repeating: UInt8(ascii: "a"), count: 8000)

    /// What has come of a flood of `filler`, and of all else.
    private struct Told {
        var flood: [Int] = []
        var others: [String] = []
        var leftOut = 0

        var records: Int { flood.count + leftOut + others.count }

        mutating func add(_ line: ArraySlice<UInt8>) {
            let words = String(decoding: line.prefix(80), as: UTF8.self).split(separator: " ")
            let number = words.prefix(2).lazy.compactMap { Int($0) }.first
            switch words.last {
            case let last? where last.hasPrefix("aaa"): flood.append(number ?? -1)
            // A single one is "a record".
            case "this" where words.contains("1001"): leftOut += number ?? 1
            default: others.append(words.joined(separator: " "))
            }
        }
    }

    /// Reads until all of `records` are accounted for; what came within a minute where they never are.
    private func read(_ descriptor: Int32, until records: Int) -> Told {
        var told = Told()
        var rest: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while told.records < records {
            var waited = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waited, 1, 60_000) > 0 else { return told }
            let count = Glibc.read(descriptor, &piece, piece.count)
            guard count > 0 else { return told }
            rest += piece.prefix(count)
            while let end = rest.firstIndex(of: Self.newline) {
                told.add(rest[..<end])
                rest.removeFirst(end + 1)
            }
        }
        return told
    }

    @Test("A user's flood costs neither another user nor the daemon a record, and is counted")
    func flood() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        // Its thread has the other end for good.
        let queue = RecordQueue(to: ends[1])
        // More than the pipe, the thread's hands and the queue have room for.
        let count = 512
        let filler = String(decoding: Self.filler, as: UTF8.self)
        for number in 0..<count { queue.write("\(number) \(filler)\n", about: 1001) }
        queue.write("bob's\n", about: 1002)
        queue.write("the daemon's\n", about: nil)
        let told = read(ends[0], until: count + 2)
        #expect(told.others == ["bob's", "the daemon's"])
        #expect(told.leftOut > 0)
        #expect(told.flood.count + told.leftOut == count)
        #expect(told.flood == told.flood.sorted(), "they are in the order in which they came")
    }

    @Test("Records that a full disk refuses are counted in the next that is taken")
    func fullDisk() async throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        // Its thread has it for good.
        let file = open("/dev/full", O_WRONLY | O_CLOEXEC)
        let queue = RecordQueue(to: file)
        queue.write("one\n", about: 1001)
        queue.write("two\n", about: nil)
        while !queue.isDone { try await Task.sleep(for: .milliseconds(1)) }
        try #require(dup2(ends[1], file) == file)
        close(ends[1])
        queue.write("three\n", about: nil)
        let told = read(ends[0], until: 2)
        #expect(told.others.count == 2 && told.others.last == "three", "\(told.others)")
        let words = "timerd: 2 records left out here, as they could not be written"
        #expect(told.others.first?.hasPrefix(words) == true, "\(told.others)")
    }
}
