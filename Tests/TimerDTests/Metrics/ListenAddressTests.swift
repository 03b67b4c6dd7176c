// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

@Suite("The address of the metrics") struct ListenAddressTests {
    @Test(
        "An address that others could reach is refused, with what is accepted",
        arguments: ["0.0.0.0:9292", ":9292", "localhost:9292", "[::]:9292", "127.0.0.1", "[::1]:x"]
    )
    func refused(address: String) async throws {
        #expect(ListenAddress(address) == nil)
        await #expect(
            throws: SettingError(
                description: "listen is '\(address)', accepted is "
                    + #""127.0.0.1:PORT", "[::1]:PORT", or "" for none"#
            )
        ) {
            _ = try await TimerD.Configuration.read(
                commandLine: ["listen": address],
                environment: [:],
                file: nil,
                paths: DefaultPaths(environment: [:], uid: 0) { _ in false },
                uid: 0
            )
        }
    }

    @Test("Both loopback addresses are read as they are written")
    func addresses() {
        for text in ["127.0.0.1:9292", "[::1]:0", "127.0.0.1:65535"] {
            #expect(ListenAddress(text)?.description == text)
        }
    }
}
