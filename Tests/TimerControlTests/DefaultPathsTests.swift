// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@Suite("DefaultPaths") struct DefaultPathsTests {
    struct Example: CustomTestStringConvertible {
        var uid: UInt32 = 1000
        var environment: [String: String]
        var hasRunFolder = false
        var socket: String
        var database: String
        var configuration = "/home/a/.config/timerd/timerd.json"

        var testDescription: String { "uid \(uid) with \(environment)" }
    }

    static let examples = [
        Example(
            uid: 0,
            environment: ["HOME": "/root", "XDG_RUNTIME_DIR": "/run/user/0"],
            socket: "/run/timerd/timerd.sock",
            database: "/var/lib/timerd/timerd.db",
            configuration: "/etc/timerd/timerd.json"
        ),
        Example(
            environment: ["HOME": "/home/a", "XDG_RUNTIME_DIR": "/run/user/1000"],
            socket: "/run/user/1000/timerd/timerd.sock",
            database: "/home/a/.local/state/timerd/timerd.db"
        ),
        Example(
            environment: ["HOME": "/home/a"],
            hasRunFolder: true,
            socket: "/run/user/1000/timerd/timerd.sock",
            database: "/home/a/.local/state/timerd/timerd.db"
        ),
        Example(
            environment: ["HOME": "/home/a"],
            socket: "/home/a/.local/state/timerd/timerd.sock",
            database: "/home/a/.local/state/timerd/timerd.db"
        ),
        Example(
            environment: ["HOME": "/home/a", "XDG_STATE_HOME": "/s/"],
            socket: "/s/timerd/timerd.sock",
            database: "/s/timerd/timerd.db"
        ),
        Example(
            environment: ["HOME": "/home/a", "XDG_RUNTIME_DIR": "", "XDG_STATE_HOME": "here"],
            socket: "/home/a/.local/state/timerd/timerd.sock",
            database: "/home/a/.local/state/timerd/timerd.db"
        ),
        Example(
            environment: [:],
            socket: "/.local/state/timerd/timerd.sock",
            database: "/.local/state/timerd/timerd.db",
            configuration: "/.config/timerd/timerd.json"
        ),
        Example(
            environment: ["HOME": "/home/a", "XDG_CONFIG_HOME": "/c"],
            socket: "/home/a/.local/state/timerd/timerd.sock",
            database: "/home/a/.local/state/timerd/timerd.db",
            configuration: "/c/timerd/timerd.json"
        ),
    ]

    @Test("Root has the system's places, a user those of XDG", arguments: examples)
    func paths(example: Example) {
        let paths = DefaultPaths(environment: example.environment, uid: example.uid) { path in
            path == "/run/user/1000" && example.hasRunFolder
        }
        #expect(paths.socket == example.socket)
        #expect(paths.database == example.database)
        #expect(paths.configuration == example.configuration)
    }

    @Test("A user's client asks the user's own daemon, else the system's where there is one")
    func client() {
        let own = "/run/user/1000/timerd/timerd.sock"
        let system = DefaultPaths.systemSocket
        let paths = DefaultPaths(environment: ["XDG_RUNTIME_DIR": "/run/user/1000"], uid: 1000) {
            _ in true
        }
        #expect(paths.clientSocket { [own, system].contains($0) } == own)
        #expect(paths.clientSocket { $0 == system } == system)
        let service = DefaultPaths.systemService
        #expect(paths.clientSocket { $0 == service } == system, "its daemon is down")
        #expect(paths.clientSocket { [own, service].contains($0) } == own)
        #expect(paths.clientSocket { _ in false } == own, "that is where one would be started")
    }
}
