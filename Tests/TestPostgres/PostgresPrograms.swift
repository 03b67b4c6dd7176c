// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform

/// The programs of the newest PostgreSQL on this machine, run as a user that they accept.
enum PostgresPrograms {
    /// Where `postgres` and `initdb` are; nil where they are not.
    static let folder: String? = {
        let debian = "/usr/lib/postgresql"
        let newest = entries(of: debian).compactMap(Int.init).sorted(by: >)
            .map { "\(debian)/\($0)/bin" }
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        return (newest + path.split(separator: ":").map(String.init)).first { folder in
            access(folder + "/postgres", X_OK) == 0 && access(folder + "/initdb", X_OK) == 0
        }
    }()

    /// PostgreSQL does not run as root.
    private static let isRoot = geteuid() == 0

    /// A new folder that the programs may write in; its name is short, as those of sockets have to be.
    static func makeFolder() throws -> String {
        var name = "/tmp/timerd-pg-XXXXXX".utf8CString.map { $0 }
        guard mkdtemp(&name) != nil else {
            throw PostgresServer.Failure("no temporary folder", errno: errno)
        }
        let folder = String(
            decoding: name.dropLast().map { UInt8(bitPattern: $0) },
            as: UTF8.self
        )
        if isRoot, let nobody = try UserDatabase.user(named: "nobody") {
            chown(folder, nobody.uid, nobody.gid)
        }
        return folder
    }

    /// Runs a program to its end; what it says goes to the file `log`.
    static func run(_ words: [String], log: String) throws {
        let process = try start(words, log: log)
        guard Processes.exitCode(of: process) == 0 else {
            throw PostgresServer.Failure(
                "'\(words.joined(separator: " "))' has failed: \(contents(of: log))"
            )
        }
    }

    /// Starts a program, whose output goes to the file `log`.
    static func start(_ words: [String], log: String) throws -> pid_t {
        var words = words
        if let folder, access("\(folder)/\(words[0])", X_OK) == 0 {
            words[0] = "\(folder)/\(words[0])"
        }
        if isRoot {
            words =
                ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"] + words
        }
        return try Processes.start(words, output: log)
    }

    static func entries(of folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
            )
        }
        return names
    }

    /// Of a file that may not be there: empty then.
    static func contents(of path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(file, &piece, piece.count), count > 0 {
            bytes += piece.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A cluster as initdb makes it, which takes a second: made once in a process, and copied.
enum ClusterTemplate {
    /// Its folder, and what removes that at the end of the process.
    static let shared = Result<(data: String, cleaner: FolderCleaner), any Error> {
        let folder = try PostgresPrograms.makeFolder()
        let cleaner = try FolderCleaner(folder)
        let data = folder + "/data"
        let words = [
            "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C",
            "--no-sync", "--no-instructions", "--wal-segsize=1",
        ]
        try PostgresPrograms.run(words, log: folder + "/log")
        return (data, cleaner)
    }
}
