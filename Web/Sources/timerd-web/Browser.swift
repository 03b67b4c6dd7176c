// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Has the user's browser open the page.
///
/// By a file that only the user can read, not by the address: other users see the arguments of programs, and the token is
/// in it.
struct Browser {
    private let file: String
    /// Made for the file alone; nil where it lies in the user's own.
    private let folder: String?

    /// Nil where there is no screen, or no place for the file.
    init?(opening address: String) {
        guard Self.variable("DISPLAY") != nil || Self.variable("WAYLAND_DISPLAY") != nil,
            let (path, folder) = Self.place, Self.write(Self.page(address), to: path)
        else { return nil }
        (file, self.folder) = (path, folder)
        // Nobody waits for it: the kernel removes it at once, wait(2).
        signal(SIGCHLD, SIG_IGN)
        Self.start(["xdg-open", path])
    }

    /// Removes what was made.
    func close() {
        unlink(file)
        if let folder { rmdir(folder) }
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static var place: (file: String, folder: String?)? {
        let name = "timerd-web-\(getpid()).html"
        if let own = variable("XDG_RUNTIME_DIR"), own.hasPrefix("/"), access(own, W_OK) == 0 {
            return ("\(own)/\(name)", nil)
        }
        var path = Array("/tmp/timerd-web-XXXXXX".utf8CString)
        guard mkdtemp(&path) != nil else { return nil }
        let folder = String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        return ("\(folder)/\(name)", folder)
    }

    private static func write(_ text: String, to path: String) -> Bool {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { return false }
        defer { Glibc.close(file) }
        return text.withCString { Glibc.write(file, $0, strlen($0)) } == text.utf8.count
    }

    /// The address has nothing that would have to be escaped: digits, letters and what addresses have.
    private static func page(_ address: String) -> String {
        "<!DOCTYPE html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
            + "<meta http-equiv=\"refresh\" content=\"0; url=\(address)\"><title>timerd</title>"
            + "<p><a href=\"\(address)\">timerd</a></p>\n"
    }

    private static func start(_ words: [String]) {
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Standard output has the address, and nothing else.
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        // A browser outlives this program: the socket that listens would stay open with it. SwiftNIO leaves its descriptors to
        // whatever is started.
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
        // What is ignored here would be so in the browser, which waits for what it starts.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var usual = sigset_t()
        sigemptyset(&usual)
        for number in [SIGCHLD, SIGPIPE] { sigaddset(&usual, number) }
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var process: pid_t = 0
        // Where there is none, the user has the address.
        _ = posix_spawnp(&process, words[0], &actions, &attributes, &arguments, environ)
    }
}
