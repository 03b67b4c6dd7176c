// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import Testing
import TimerControl

@testable import TimerD

@Suite("ClientError", .timeLimit(.minutes(3))) struct ClientErrorTests {
    /// A path in the folder that has so many bytes.
    private func path(_ folder: TemporaryFolder, bytes: Int) -> String {
        let start = folder.file("")
        return start + String(repeating: "x", count: bytes - start.utf8.count)
    }

    @Test(
        "A socket's path may have as many bytes as the daemon's; of a longer one the limit is told"
    )
    func length() async throws {
        let folder = try TemporaryFolder()
        let longest = path(folder, bytes: 107)
        let socket = try SocketFile.listen(at: longest)
        defer { close(socket.descriptor) }
        await #expect(throws: Never.self) {
            await (try ControlClient.connect(to: longest)).close()
        }
        let longer = path(folder, bytes: 108)
        let error = await #expect(throws: ClientError.self) {
            try await ControlClient.connect(to: longer)
        }
        #expect(
            error?.message
                == "cannot connect to '\(longer)': the path has 108 bytes, a socket's has 1 to 107"
        )
    }

    @Test("A peer that closes with the request unread is told of without words of NIO")
    func reset() async throws {
        let folder = try TemporaryFolder()
        let socket = try SocketFile.listen(at: folder.file("s"))
        defer { close(socket.descriptor) }
        // The thread below waits in accept(2).
        #expect(fcntl(socket.descriptor, F_SETFL, 0) == 0)
        try SystemThread.start(named: "closer") { [descriptor = socket.descriptor] in
            let peer = accept(descriptor, nil, nil)
            var request = pollfd(fd: peer, events: Int16(POLLIN), revents: 0)
            _ = poll(&request, 1, -1)
            close(peer)
        }
        let client = try await ControlClient.connect(to: socket.path)
        let error = await #expect(throws: ClientError.self) { try await client.status() }
        #expect(
            error?.message
                == "the daemon at '\(socket.path)' has closed the connection: connection reset by peer"
        )
    }
}
