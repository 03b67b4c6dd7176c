// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Removes a folder, and ends the server in it, once this object is gone or the process has ended.
///
/// A shell waits for the end of a socket, which the kernel closes even where the tests crash.
final class FolderCleaner: Sendable {
    private let socket: CInt

    private static let script = """
        exec 3<&0
        {
        read -r _ <&3
        if [ -f "$1/data/postmaster.pid" ]; then
            read -r server < "$1/data/postmaster.pid"
            kill -CONT "$server" && kill -QUIT "$server" && for _ in $(seq 100); do
                [ -f "$1/data/postmaster.pid" ] || break
                sleep 0.1
            done
        fi
        rm -rf "$1"
        } &
        """

    init(_ folder: String) throws {
        var ends: [CInt] = [0, 0]
        // Swift does not see pipe2(2); another process that is started now must not inherit an end.
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue
        guard socketpair(AF_UNIX, CInt(type), 0, &ends) == 0 else {
            throw PostgresServer.Failure("no socket", errno: errno)
        }
        socket = ends[1]
        defer { close(ends[0]) }
        do {
            // It ends at once; what waits is a child of its own, which nobody has to reap.
            let shell = try Processes.start(
                ["sh", "-c", Self.script, "sh", folder],
                input: ends[0],
                output: "/dev/null"
            )
            _ = Processes.exitCode(of: shell)
        } catch {
            close(socket)
            throw error
        }
    }

    deinit { close(socket) }
}
