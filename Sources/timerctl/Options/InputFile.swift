// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage
import TimerControl

/// A file or folder that an argument names.
enum InputFile {
    /// The most bytes that are read: 1 MiB, as in a line of the protocol; userInfo may have 64 KiB of it.
    private static let largest = 1 << 20
    /// The most of what becomes jobs, as in an upload.
    static let largestOfJobs = Limits.uploadBytes

    /// The absolute path, since the daemon works in another folder; symbolic links stay.
    static func absolutePath(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        guard let current = getcwd(nil, 0) else { return path }
        defer { free(current) }
        return absolutePath(path, from: String(cString: current))
    }

    /// The one path of a file, however it is spelt, without symbolic links; the absolute one where there is no file.
    static func realPath(_ path: String) -> String {
        guard let found = realpath(path, nil) else { return absolutePath(path) }
        defer { free(found) }
        return String(cString: found)
    }

    /// The path of a file in the one path of its folder; its own name stays, also that of a symbolic link.
    static func inRealFolder(_ path: String) -> String {
        let parts = FilePath(absolutePath(path))
        guard let name = parts.lastComponent?.string else { return absolutePath(path) }
        return absolutePath(name, from: realPath(parts.removingLastComponent().string))
    }

    /// The same for a file that need not be there if its path follows a dash.
    static func absoluteOptionalPath(_ path: String) -> String {
        path.hasPrefix("-") ? "-" + absolutePath(String(path.dropFirst())) : absolutePath(path)
    }

    /// The same for the file behind the name of a credential, if one is named.
    static func absoluteCredential(_ text: String) -> String {
        guard let colon = text.firstIndex(of: ":"), text.index(after: colon) < text.endIndex else {
            return text
        }
        return text[...colon] + absolutePath(String(text[text.index(after: colon)...]))
    }

    static func absolutePath(_ path: String, from folder: String) -> String {
        if path.isEmpty || path.hasPrefix("/") { return path }
        if path == "." { return folder }
        return (folder == "/" ? "" : folder) + "/" + path
    }

    /// Whether there is a folder of that name, at an absolute path.
    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return path.hasPrefix("/") && stat(path, &status) == 0
            && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The names in a folder, in no order; nil where there is no folder of that path.
    ///
    /// - Throws: 74 for one that cannot be read to its end: whoever takes a part for all would remove the rest.
    ///
    /// `skipsForbidden`: one that may not be read counts as none.
    static func names(in path: String, skipsForbidden: Bool = false) throws(Failure) -> [String]? {
        guard let folder = opendir(path) else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            if errno == EACCES, skipsForbidden { return nil }
            throw Failure(.inputOutput, "cannot open '\(path)': \(Errno.last.text)")
        }
        defer { closedir(folder) }
        var names: [String] = []
        while true {
            // By this alone the end differs from a failure: readdir(3).
            errno = 0
            guard let entry = readdir(folder) else { break }
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
            )
        }
        guard errno == 0 else {
            throw Failure(.inputOutput, "cannot read '\(path)': \(Errno.last.text)")
        }
        return names
    }

    /// All bytes of the file; "-" is standard input.
    ///
    /// - Throws: 74 for what cannot be read, 65 for more than `limit`.
    static func bytes(of path: String) throws(Failure) -> [UInt8] {
        try bytes(of: path, atMost: largest)
    }

    /// The file as text.
    ///
    /// - Throws: as `bytes`, and 65 where it is not UTF-8, with the first line that is not.
    static func text(
        of path: String,
        atMost limit: Int = largest,
        isFound: Bool = false,
        checking check: (stat) throws(Failure) -> Void = { _ throws(Failure) in }
    ) throws(Failure) -> String {
        let bytes = try bytes(of: path, atMost: limit, isFound: isFound, checking: check)
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let line = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0
        let name = path == "-" ? "standard input" : "'\(path)'"
        throw Failure(.badData, "\(name) is not UTF-8 text in line \(line + 1)")
    }

    /// `check` looks at the very file whose bytes are read, whatever its path leads to by then, and throws to refuse it.
    ///
    /// `isFound`: it was found in a folder, and nobody named it: a pipe there is refused, as nobody may ever write to it.
    static func bytes(
        of path: String,
        atMost limit: Int,
        isFound: Bool = false,
        checking check: (stat) throws(Failure) -> Void = { _ throws(Failure) in }
    ) throws(Failure) -> [UInt8] {
        let flags = O_RDONLY | O_CLOEXEC | (isFound ? O_NONBLOCK : 0)
        let descriptor = path == "-" ? STDIN_FILENO : open(path, flags)
        guard descriptor >= 0 else {
            throw Failure(.inputOutput, "cannot open '\(path)': \(Errno.last.text)")
        }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw Failure(.inputOutput, "cannot read '\(path)': \(Errno.last.text)")
        }
        guard !isFound || status.st_mode & S_IFMT != S_IFIFO else {
            throw Failure(.badData, "'\(path)' is a pipe, accepted in a folder are files")
        }
        try check(status)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw Failure(.inputOutput, "cannot read '\(path)': \(Errno.last.text)")
            }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                let name = path == "-" ? "standard input" : "'\(path)'"
                throw Failure(.badData, "\(name) is longer than \(limit >> 20) MiB")
            }
        }
    }
}
