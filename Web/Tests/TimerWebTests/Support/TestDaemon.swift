// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import TimerControl

/// The daemon as it is installed, in a folder of its own.
final class TestDaemon {
    let folder: String
    private var process: pid_t = 0

    var socket: String { "\(folder)/s" }

    /// Where the main package was built, or where `TIMERD_PROGRAMS` says.
    static let program: String? = {
        let built = "/\(#filePath.split(separator: "/").dropLast(5).joined(separator: "/"))/.build"
        let folders = [
            getenv("TIMERD_PROGRAMS").map { String(cString: $0) }, "\(built)/debug",
            "\(built)/release",
        ]
        return folders.compactMap(\.self).map { "\($0)/timerd" }.first { access($0, X_OK) == 0 }
    }()

    init() async throws {
        var path = Array("/tmp/timerd-web-test-XXXXXX".utf8CString)
        try #require(mkdtemp(&path) != nil)
        folder = String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        try await start()
    }

    deinit {
        stop()
        // What minds the runs lives on without the daemon, until it is told.
        let program = Self.program ?? ""
        for words in [
            [program, "--database", "\(folder)/d", "--end-runs", "--drain", "0"],
            ["/bin/rm", "-rf", folder],
        ] {
            var status: CInt = 0
            // try?: what cannot be started leaves a folder behind, and no test is wrong for it.
            if let process = try? Self.spawn(words) { waitpid(process, &status, 0) }
        }
    }

    /// Starts it, and waits until it answers.
    func start() async throws {
        let program = try #require(Self.program)
        process = try Self.spawn([
            program, "--database", "\(folder)/d", "--socket", socket, "--log-level", "error",
        ])
        for _ in 0..<6000 {
            // try?: it does not answer yet.
            if let client = try? await ControlClient.connect(to: socket) {
                await client.close()
                return
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("no daemon answers at '\(socket)'")
    }

    /// Has it die as a crash does, or otherwise.
    func stop(_ signal: CInt = SIGKILL) {
        guard process > 0 else { return }
        kill(process, signal)
        var status: CInt = 0
        waitpid(process, &status, 0)
        process = 0
    }

    /// Has it hang, until `goOn`.
    func hang() {
        kill(process, SIGSTOP)
        var status: CInt = 0
        // Until it has stopped: it could answer once more.
        waitpid(process, &status, WUNTRACED)
    }

    func goOn() { kill(process, SIGCONT) }

    /// Has it begin with an empty database, once it is stopped.
    func forget() throws {
        for name in try folderContent(folder) where name.hasPrefix("d") && !name.contains("run") {
            unlink("\(folder)/\(name)")
        }
    }

    func connected<Value>(_ body: (ControlClient) async throws -> Value) async throws -> Value {
        let client = try await ControlClient.connect(to: socket)
        do {
            let value = try await body(client)
            await client.close()
            return value
        } catch {
            await client.close()
            throw error
        }
    }

    private static func spawn(_ words: [String]) throws -> pid_t {
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var process: pid_t = 0
        let code = posix_spawn(&process, words[0], &actions, nil, &arguments, environ)
        try #require(code == 0)
        return process
    }
}

/// The names of what is in a folder.
func folderContent(_ path: String) throws -> [String] {
    let folder = try #require(opendir(path))
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != "." && name != ".." { names.append(name) }
    }
    return names
}
