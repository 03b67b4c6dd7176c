// SPDX-License-Identifier: Apache-2.0

// `stat` belongs to CoreFoundation if any module of the program imports that, and to Glibc otherwise.
import CoreFoundation
import Glibc
import LinuxSystem
import Logging
import Platform

/// A listening Unix socket and its file.
struct SocketFile: Sendable {
    let path: String
    /// Bound and listening; to be closed by whoever takes it over.
    let descriptor: Int32
    /// The file that was made here; nil for one of the service manager.
    private let file: FileID?

    /// Identifies a file, also against a later one at the same path.
    private struct FileID: Hashable {
        var device: dev_t
        var inode: ino_t
    }

    private init(path: String, descriptor: Int32, file: FileID) {
        (self.path, self.descriptor, self.file) = (path, descriptor, file)
    }

    /// A socket whose file belongs to the service manager.
    init(path: String, adopting descriptor: Int32) {
        (self.path, self.descriptor, file) = (path, descriptor, nil)
    }

    /// How the name of the lock ends that is made beside a socket that everyone can reach.
    static let endingOfLock = "-lock"

    /// Who may connect, as far as the file system decides it; root always may.
    enum Audience: Sendable {
        case owner
        case everyone

        var socketMode: mode_t { self == .owner ? 0o600 : 0o666 }
        var directoryMode: mode_t { self == .owner ? 0o700 : 0o755 }
    }

    /// Makes the socket; a stale file at the path is replaced, a live socket never is.
    ///
    /// Directories that are missing are made, and only the owner may write to them. A directory that a
    /// stranger could change is refused. Daemons that start at the same time take turns here; the service manager takes none,
    /// and may make its socket in between: so what comes to the path behind the look at it is looked at again.
    static func listen(at path: String, for audience: Audience = .owner) throws(SocketError)
        -> SocketFile
    {
        try listen(at: path, for: audience, looked: {})
    }

    /// What `listen(at:for:)` does; `looked` is called behind each look, for tests.
    static func listen(
        at path: String,
        for audience: Audience,
        looked: () -> Void
    ) throws(SocketError) -> SocketFile {
        if let error = SocketError.place(path) { throw error }
        let directory = path.parentFolder
        try makeDirectory(directory, audience, for: path)
        let lock = try lock(directory, audience, for: path)
        defer { close(lock) }
        for _ in 1...3 {
            try removeStaleFile(path)
            looked()
            if let made = try bind(path, audience) { return made }
        }
        throw SocketError(path, "another program makes a file there again and again")
    }

    /// Whether somebody has removed or replaced the file that was made here, so that nobody can connect any more.
    var isLost: Bool {
        guard let file else { return false }
        // What cannot be looked at for another reason may be there.
        guard let now = status(of: path) else { return errno == ENOENT || errno == ENOTDIR }
        return file != FileID(device: now.st_dev, inode: now.st_ino)
    }

    /// Whether somebody has connected who is not accepted yet.
    ///
    /// To be asked while the descriptor is open.
    var hasClientsWaiting: Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&state, 1, 0) > 0
    }

    /// Another socket at the same path, where this one's file is lost; nil where it is not, and where there can be none.
    func madeAnew(for audience: Audience, _ log: Logger) -> SocketFile? {
        guard isLost else { return nil }
        do throws(SocketError) {
            let new = try Self.listen(at: path, for: audience)
            log.error(
                "the control socket's file was removed or replaced; listening anew",
                metadata: ["socket": "\(path)"]
            )
            return new
        } catch {
            log.error(
                "the control socket's file was removed or replaced; nobody can connect",
                metadata: ["socket": "\(path)", "error": "\(error)"]
            )
            return nil
        }
    }

    /// How many clients may wait to be accepted; one more that does not block is turned away (EAGAIN).
    static let queueLength: Int32 = 512

    /// Has `queueLength` count again: SwiftNIO sets 128 for a socket that it takes over, before an option of the channel counts.
    func restoreQueueLength() {
        // Where that fails there is room for fewer.
        _ = Glibc.listen(descriptor, Self.queueLength)
    }

    /// Removes the file, if it is still the one that was made.
    ///
    /// To be called before the descriptor is closed: until then no other file has its inode.
    func remove() {
        guard let file, let now = status(of: path),
            file == FileID(device: now.st_dev, inode: now.st_ino)
        else { return }
        unlink(path)
    }

    /// Nil where there is a file by now.
    private static func bind(
        _ path: String,
        _ audience: Audience
    ) throws(SocketError) -> SocketFile? {
        let descriptor = try makeSocket(path)
        // Nobody can connect before listen(2), and by then the mode is set.
        let isBound = withAddress(of: path) { Glibc.bind(descriptor, $0, $1) } == 0
        guard isBound || errno != EADDRINUSE else {
            close(descriptor)
            return nil
        }
        guard isBound, chmod(path, audience.socketMode) == 0, let file = status(of: path),
            Glibc.listen(descriptor, queueLength) == 0
        else {
            defer {
                close(descriptor)
                if isBound { unlink(path) }
            }
            throw .failed(path, "bind")
        }
        return SocketFile(
            path: path,
            descriptor: descriptor,
            file: FileID(device: file.st_dev, inode: file.st_ino)
        )
    }

    /// Removes a socket file on which no daemon answers; throws for a live one, and for other files.
    private static func removeStaleFile(_ path: String) throws(SocketError) {
        guard let file = status(of: path) else {
            guard errno == ENOENT else { throw .failed(path, "look at it") }
            return
        }
        guard file.st_mode & S_IFMT == S_IFSOCK else {
            throw SocketError(path, SocketError.otherFile, isLasting: true)
        }
        var answer = try probe(path)
        // The service manager may be about to listen, within a moment.
        for _ in 0..<100 where answer == ECONNREFUSED && UnixSocketTable.hasUnheard(at: path) {
            usleep(10_000)
            answer = try probe(path)
        }
        switch answer {
        case 0, EAGAIN: throw SocketError(path, "another daemon answers on '\(path)'")
        case ECONNREFUSED where UnixSocketTable.hasUnheard(at: path):
            throw SocketError(path, "another process has made it, and does not listen")
        case ECONNREFUSED:
            guard unlink(path) == 0 || errno == ENOENT else {
                throw .failed(path, "remove the stale socket file")
            }
        case ENOENT: break
        default:
            errno = answer
            throw .failed(path, "tell whether another daemon answers there")
        }
    }

    /// Connects; 0, or the errno.
    private static func probe(_ path: String) throws(SocketError) -> Int32 {
        let probe = try makeSocket(path)
        defer { close(probe) }
        // Does not wait: a Unix socket that is not accepted yet counts as connected.
        return withAddress(of: path) { connect(probe, $0, $1) == 0 ? 0 : errno }
    }

    private static func makeSocket(_ path: String) throws(SocketError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw .failed(path, "make a socket") }
        return descriptor
    }

    private static func withAddress(
        of path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

extension SocketFile {
    /// Makes a directory and those above it; for the owner alone they are XDG Base Directory's
    /// "0700", for everyone each may be passed through.
    private static func makeDirectory(
        _ directory: String,
        _ audience: Audience,
        for path: String
    ) throws(SocketError) {
        func make() -> Bool {
            // chmod as well: the umask may take from the mode what everyone needs.
            if mkdir(directory, audience.directoryMode) == 0 {
                return chmod(directory, audience.directoryMode) == 0
            }
            return errno == EEXIST
        }
        if make() { return }
        let above = directory.parentFolder
        if errno == ENOENT, above != directory {
            try makeDirectory(above, audience, for: path)
            if make() { return }
        }
        throw .failed(path, "make the directory '\(directory)'")
    }

    /// Keeps others out of `listen(at:)` until the descriptor is closed.
    ///
    /// Locks the directory. One that everyone can open could be locked by everyone: there it locks a file
    /// that only the owner can open.
    private static func lock(
        _ directory: String,
        _ audience: Audience,
        for path: String
    ) throws(SocketError) -> Int32 {
        let descriptor =
            switch audience {
            case .owner: open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            case .everyone:
                open(path + endingOfLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            }
        let file = audience == .owner ? "the directory '\(directory)'" : "'\(path)\(endingOfLock)'"
        guard descriptor >= 0 else { throw .failed(path, "open \(file)") }
        // Another daemon releases the lock within a millisecond. A stranger may hold it: gives up after a
        // second.
        for _ in 0..<100 {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
            guard errno == EWOULDBLOCK || errno == EINTR else { break }
            usleep(10_000)
        }
        defer { close(descriptor) }
        throw .failed(path, "lock \(file)")
    }
}

/// The status of the file at a path, of a link itself; nil with errno set if there is none.
private func status(of path: String) -> stat? {
    var file = stat()
    return lstat(path, &file) == 0 ? file : nil
}
