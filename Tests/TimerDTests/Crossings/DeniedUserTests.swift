// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// A user who is denied while he is there.
@Suite("Denied users", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0))
struct DeniedUserTests {
    /// Connects as a user, asks, and returns all lines when the daemon has closed the connection.
    private func watch(
        _ daemon: DaemonProcess,
        as user: TestUser,
        _ requests: String = #"{"jsonrpc":"2.0","id":1,"method":"events.subscribe"}"#
    ) -> Task<[String], any Error> {
        let client = """
            use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
            print $s $ARGV[2] . "\\n"; $s->flush;
            while (defined(my $l = <$s>)) {
                print $l;
                if (open F, '>', $ARGV[1]) { print F "there\\n"; close F }
            }
            """
        let words = DaemonProcess.words(
            as: user.uid,
            ["perl", "-e", client, daemon.socket, user.home + "/there", requests]
        )
        return Task {
            try await Tool.run(words).split(separator: "\n").map(String.init)
        }
    }

    @Test(
        "Who is denied by a reload is sent away with the reason; his jobs and runs go on",
        arguments: [false, true]
    )
    func reload(byName: Bool) async throws {
        try await DaemonProcess.withUsers { daemon, ann, ben in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try "{}".write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.start(["--config", file])
            let gate = FileGate(daemon, "gate")
            let running = try await daemon.begin(["sh", "-c", gate.wait], as: ann.uid)
            #expect(try await daemon.runningRun(running).state == .running)
            let added = try await daemon.timerctl(as: ann, "add", "--every", "1s", "--", "true")
            let repeating = added.output.trimmingCharacters(in: .newlines)

            let hers = watch(daemon, as: ann)
            let his = watch(daemon, as: ben)
            for user in ["ann", "ben"] {
                #expect(try await daemon.line(in: "\(user)/there") == "there")
            }
            try #"{"deny": ["\#(byName ? ann.name : "\(ann.uid)")"]}"#
                .write(toFile: file, atomically: false, encoding: .utf8)
            kill(daemon.pid, SIGHUP)
            let last = try #require(try await hers.value.last)
            #expect(last.contains("uid \(ann.uid) may not use this daemon"), "\(last)")
            #expect(last.contains(#""id":null"#) && last.contains("notPermitted"), "\(last)")
            #expect(try await daemon.timerctl(as: ann, "list").status == 77)

            gate.open()
            #expect(try await daemon.finishedRun(running).status == 0)
            // From now on, so one that fired after she was denied.
            let fires = try await daemon.runs([repeating]).count
            while try await daemon.runs([repeating]).count < fires + 2 {
                try Task.checkCancellation()
            }
            // Nobody else was sent away.
            try #"{"deny": ["\#(ben.uid)"]}"#
                .write(toFile: file, atomically: false, encoding: .utf8)
            kill(daemon.pid, SIGHUP)
            #expect(try await his.value.last?.contains("uid \(ben.uid) may not use") == true)
            #expect(try await daemon.timerctl(as: ann, "list").status == 0)
        }
    }

    @Test("Who waits for a task as he is denied gets the refusal as the answer, and as last line")
    func waiting() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try "{}".write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.start(["--config", file])
            let hers = watch(
                daemon,
                as: ann,
                #"{"jsonrpc":"2.0","id":1,"method":"daemon.status"}"# + "\n"
                    + #"{"jsonrpc":"2.0","id":2,"method":"task.reserve","#
                    + #""params":{"queues":["mails"],"wait":"1h"}}"#
            )
            #expect(try await daemon.line(in: "ann/there") == "there")
            try #"{"deny": ["\#(ann.uid)"]}"#
                .write(toFile: file, atomically: false, encoding: .utf8)
            kill(daemon.pid, SIGHUP)
            let lines = try await hers.value
            #expect(lines.count == 3, "\(lines)")
            for (line, id) in zip(lines.dropFirst(), [#""id":2"#, #""id":null"#]) {
                #expect(line.contains(id) && line.contains("notPermitted"), "\(line)")
            }
        }
    }
}
