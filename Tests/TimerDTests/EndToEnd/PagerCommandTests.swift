// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

@testable import TimerD

/// A long answer on a terminal, which script(1) makes.
@Suite("Pager on a terminal", .timeLimit(.minutes(3)))
struct PagerCommandTests {
    @Test(
        "A list goes through the pager on a terminal, unless somebody wants none or it is not there",
        .enabled(if: Shell.has("script"), "there is no script(1)")
    )
    func list() async throws {
        try await DaemonProcess.with { daemon in
            _ = try await daemon.timerctl("add", "--in", "1h", "--name", "tea", "--event")
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            let pager = "TIMERD_PAGER='sed s/^/paged:/'"
            for command in ["list", "agenda", "runs"] {
                let paged = try await shell(
                    "\(pager) script -qec 'timerctl \(command)' /dev/null </dev/null"
                )
                #expect(paged.output.contains("paged:") == (command != "runs"), "\(paged.output)")
            }
            // ls(1) has the folder open beside them.
            let listing = try await shell(
                "TIMERD_PAGER='cat >/dev/null; ls -m /proc/self/fd' script -qec 'timerctl list' /dev/null </dev/null"
            )
            #expect(listing.output == "0, 1, 2, 3\r\n")
            let without = try await shell(
                "\(pager) script -qec 'timerctl list --no-pager' /dev/null </dev/null"
            )
            #expect(without.output.contains("tea") && !without.output.contains("paged:"))
            let missing = try await shell(
                "TIMERD_PAGER=/nonexistent/pager script -qec 'timerctl list' /dev/null </dev/null"
            )
            #expect(missing.output.contains("tea"), "\(missing.output)")
            let piped = try await shell("\(pager) timerctl list | cat")
            #expect(piped.output.contains("tea") && !piped.output.contains("paged:"))
        }
    }

    /// Hands a command's requests to the daemon, whose version it answers with a character that a terminal obeys.
    private static let strange = """
        use IO::Socket::UNIX; my ($socket, $daemon) = @ARGV;
        my $listener = IO::Socket::UNIX->new(Local => $socket, Listen => 9) or die;
        if (my $server = fork) {
            close $listener;
            my $status = system "sh", "-c", $ENV{COMMAND};
            kill 9, $server; exit $status >> 8;
        }
        while (my $client = $listener->accept) {
            my $server = IO::Socket::UNIX->new(Peer => $daemon) or die;
            while (my $line = <$client>) {
                print $server $line; $server->flush; my $answer = <$server>;
                $answer =~ s/"version":"/"version":"\\\\u001b[2J/;
                print $client $answer; $client->flush;
            }
        }
        """

    @Test(
        "Metrics are spelled out on a terminal, and go to a program as they are",
        .enabled(if: Shell.has("script") && Shell.has("perl"), "there is no script(1), or no perl")
    )
    func metrics() async throws {
        try await DaemonProcess.with { daemon in
            let program = daemon.folder + "/strange"
            try Self.strange.write(toFile: program, atomically: false, encoding: .utf8)
            func answer(_ command: String) async throws -> String {
                let shell = Shell(
                    variables: ["TIMERD_SOCKET": program + ".sock", "COMMAND": command],
                    folder: daemon.folder
                )
                let said = try await shell(
                    "rm -f strange.sock; exec perl strange \(program).sock \(daemon.socket)"
                )
                #expect(said.isDone, "\(said.errors)")
                return said.output
            }
            let shown = try await answer("script -qec 'timerctl metrics' /dev/null </dev/null")
            #expect(shown.contains("version=\"^[[2J") && !shown.contains("\u{1b}[2J"), "\(shown)")
            let piped = try await answer("timerctl metrics | cat")
            #expect(piped.contains("version=\"\u{1b}[2J"), "\(piped)")
        }
    }
}
