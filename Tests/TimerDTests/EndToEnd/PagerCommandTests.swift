// SPDX-License-Identifier: Apache-2.0

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
}
