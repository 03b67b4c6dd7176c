// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import timerctl

/// Whose socket `timerctl doctor` takes for the daemon's, where its file is not there.
@Suite("Lost socket", .timeLimit(.minutes(1))) struct LostSocketTests {
    /// Has perl listen in `folder` until its standard input ends; the process, once it listens, or nothing where it cannot.
    private func listen(
        in folder: String,
        after words: String
    ) throws -> (process: Process, input: Pipe, isListening: Bool) {
        let program = """
            $| = 1; $s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or die;
            print "listening\\n"; <STDIN>
            """
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c", words + " exec perl -MIO::Socket::UNIX -e \"$1\" \"$2\"", "sh", program,
            folder + "/s",
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        // A line, or the end.
        return (process, input, !output.fileHandleForReading.availableData.isEmpty)
    }

    private func inFolder(_ body: (String) throws -> Void) throws {
        let folder = "/tmp/timerctl-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // try?: what is left harms nobody.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    @Test("A socket of a program of this machine is found with its process")
    func own() throws {
        try inFolder { folder in
            let (process, input, isListening) = try listen(in: folder, after: "")
            #expect(isListening)
            let lost = HostFacts.LostSocket(process: process.processIdentifier)
            #expect(HostFacts.lostSocket(at: folder + "/s") == lost)
            input.fileHandleForWriting.closeFile()
            process.waitUntilExit()
        }
    }

    @Test(
        "A socket at the same path of another container is nobody's here",
        .enabled(if: geteuid() == 0)
    )
    func otherContainer() throws {
        try inFolder { folder in
            let words = "exec unshare --mount sh -c 'mount -t tmpfs none \(folder) &&"
            let inner = " exec perl -MIO::Socket::UNIX -e \"$1\" \"$2\"' sh \"$1\" \"$2\"; #"
            let (process, input, isListening) = try listen(in: folder, after: words + inner)
            // Where nothing may be mounted, as in some containers, there is nothing to tell apart.
            if isListening { #expect(HostFacts.lostSocket(at: folder + "/s") == nil) }
            input.fileHandleForWriting.closeFile()
            process.waitUntilExit()
        }
    }
}
