// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks

extension Zone {
    /// The zone of that name: a file of the zone database, "UTC", or a POSIX TZ string such as
    /// "CET-1CEST".
    ///
    /// The database is `$TZDIR`, else /usr/share/zoneinfo. A file is read once and again when it
    /// has changed.
    ///
    /// - Throws: `badZone` for an unknown name, and for one such as "UTC+2"; `unreadZone` where a file that was not read
    ///   before cannot be read now, for want of descriptors, say.
    public init(named name: String) throws(ScheduleError) {
        do throws(ScheduleError) {
            try self.init(inDatabase: name)
        } catch {
            guard error.code == .badZone, !Self.isTwoSided(name), let zone = Self(posix: name)
            else { throw error }
            self = zone
        }
    }

    /// The same without POSIX TZ strings: among other words, a misspelt one would pass for such a string.
    init(inDatabase name: String) throws(ScheduleError) {
        if name.utf8.count == 3, name.uppercased() == "UTC" {
            self = .utc
        } else if let table = try Self.table(inDatabase: name) {
            self.init(table: table)
        } else if Self.isTwoSided(name) {
            throw ScheduleError(
                .badZone,
                "zone '\(name)' could be east or west of Greenwich; two hours east are "
                    + "'Etc/GMT-2', or '+02:00' behind a date"
            )
        } else {
            throw ScheduleError(
                .badZone,
                "zone '\(name)' is unknown; accepted are 'UTC' and the names in \(Self.databaseFolder), "
                    + "such as 'Europe/Berlin'"
            )
        }
    }

    private static func table(inDatabase name: String) throws(ScheduleError) -> ZoneTable? {
        guard isFileName(name) else { return nil }
        return try ZoneCache.shared.table(path: databaseFolder + "/" + name, name: name)
    }

    /// Whether the name is such as "UTC+2": west for POSIX, east for everybody else.
    private static func isTwoSided(_ name: String) -> Bool {
        let upper = name.uppercased()
        return (upper.hasPrefix("UTC") || upper.hasPrefix("GMT"))
            && "+-".contains(upper.dropFirst(3).first ?? " ")
    }

    /// The zone of this machine: `$TZ` if set (a name, a path or a POSIX TZ string), else
    /// /etc/localtime, else UTC.
    ///
    /// Looks at the environment, the link and its file at each call, and follows the link anew once it
    /// leads elsewhere; a chain of links at each call. Not in the middle of `setenv` on another thread.
    public static var local: Zone {
        // As in the C library, what cannot be read is UTC; `localMistake` says so.
        if let value = environment("TZ") { return ofEnvironment(value) ?? .utc }
        return ofPath("/etc/localtime") ?? .utc
    }

    /// The zone in a file; nil where there is none, or where what was not read before cannot be read now.
    private static func ofPath(_ path: String) -> Zone? {
        let name = ZoneCache.shared.name(ofPath: path)
        do throws(ScheduleError) {
            return try ZoneCache.shared.table(path: path, name: name).map(Zone.init(table:))
        } catch {
            return nil
        }
    }

    /// What is wrong with `$TZ`, for which `local` is UTC; nil where it names a zone, and where it is empty or not set.
    public static var localMistake: ScheduleError? {
        guard let value = environment("TZ"), !value.isEmpty, ofEnvironment(value) == nil else {
            return nil
        }
        return ScheduleError(
            .badZone,
            "TZ is '\(value)', which is no time zone; accepted are 'UTC', the names in \(databaseFolder), such as "
                + "'Europe/Berlin', paths of such files, and POSIX TZ strings, such as 'CET-1CEST'"
        )
    }

    private static func ofEnvironment(_ value: String) -> Zone? {
        let name = value.hasPrefix(":") ? String(value.dropFirst()) : value
        if name.hasPrefix("/") { return ofPath(name) }
        // As in the C library, "UTC+2" lies west.
        do { return try Zone(named: name) } catch { return Zone(posix: name) }
    }

    /// The folder with the files of zones: `$TZDIR`, else the standard one.
    public static var databaseFolder: String {
        let folder = environment("TZDIR") ?? ""
        return folder.isEmpty ? standardDatabaseFolder : folder
    }

    /// Where the files of zones are unless `$TZDIR` says another place.
    public static let standardDatabaseFolder = "/usr/share/zoneinfo"

    private init?(posix text: String) {
        guard let named = ZoneRule.parse(text) else { return nil }
        self.init(
            table: ZoneTable(
                name: text,
                transitions: [],
                offsets: [Int32(named.rule.offset)],
                abbreviationIndices: [0],
                abbreviations: named.abbreviations,
                rule: named.rule,
                source: Array(text.utf8)
            )
        )
    }

    /// The zone again, from its `source`; nil where that is none.
    public init?(named name: String, source: [UInt8]) {
        if source.isEmpty {
            self = .utc
        } else if let table = ZoneFile.parse(source, name: name) {
            self.init(table: table)
        } else {
            self.init(posix: String(decoding: source, as: UTF8.self))
        }
    }

    /// Whether its name is one that `init(named:)` finds it by; not where /etc/localtime is a file of its own.
    public var isKnownByName: Bool {
        // try?: a name that means nothing is not what it is known by.
        self == .utc || (try? Zone(named: name)) == self
    }

    /// Whether the name stays inside the folder and can be one of the database's.
    private static func isFileName(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return name.utf8.count <= 255
            && parts.allSatisfy { part in
                !part.isEmpty && part != "." && part != ".."
                    && part.utf8.allSatisfy { byte in
                        byte.isDigit || byte.isLetter || "+-_".utf8.contains(byte)
                    }
            }
    }

    fileprivate static let folderName = "/zoneinfo/"

    /// The zone's name from the file a link ends in; nil when that is not there, or not in a database.
    fileprivate static func name(ofPath path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        let target = String(cString: resolved)
        guard let range = target.firstRange(of: folderName) else { return nil }
        return String(target[range.upperBound...])
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

/// The zone files read so far, so that ten thousand jobs share one table.
///
/// Bounded by the number of files in the database. Any thread.
final class ZoneCache: Sendable {
    static let shared = ZoneCache()

    private struct Entry {
        var stamp: Stamp
        var table: ZoneTable
    }

    /// What differs once a file is another, or was written to.
    private struct Stamp: Hashable {
        var device: UInt
        var inode: UInt
        var size: Int
        /// In ns; a change that keeps the first, as an archive's does, changes the second.
        var modified: Int
        var changed: Int

        init(_ status: stat) {
            device = status.st_dev
            inode = status.st_ino
            size = status.st_size
            modified = status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
            changed = status.st_ctim.tv_sec * 1_000_000_000 + status.st_ctim.tv_nsec
        }
    }

    private let entries = Locked<[String: Entry]>([:])
    /// The names of the files that links name themselves, by the path of the link, each with the link's text.
    private let names = Locked<[String: (target: String, name: String)]>([:])

    /// As `Zone.name(ofPath:)`, else "local".
    ///
    /// A link to a file of a database is followed only if it has changed, since that asks the system seven
    /// times. Any other is followed each time: its text stays while what it leads to changes.
    func name(ofPath path: String) -> String {
        let target = Self.target(ofLink: path)
        if let known = names.withLock({ $0[path] }), known.target == target { return known.name }
        // The text was read before the link is followed: a change in between is noticed next time.
        guard let name = Zone.name(ofPath: path) else { return "local" }
        // Not where the link leads to another link, in the database or outside.
        if let target, target.hasSuffix(Zone.folderName + name) {
            names.withLock { $0[path] = (target, name) }
        }
        return name
    }

    /// Where a link leads, as it says; nil for what is no link.
    private static func target(ofLink path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink(path, start, buffer.count)
            guard count > 0 else { return nil }
            return String(
                decoding: UnsafeRawBufferPointer(start: start, count: count),
                as: UTF8.self
            )
        }
    }

    /// The zone in a file; nil when there is none.
    ///
    /// While the file cannot be read it is what was read last.
    /// - Throws: `unreadZone` where it cannot be read now and was not read before.
    func table(path: String, name: String) throws(ScheduleError) -> ZoneTable? {
        var status = stat()
        let cached = entries.withLock { $0[path] }
        guard stat(path, &status) == 0 else {
            return try Self.left(errno, cached, name)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        let stamp = Stamp(status)
        // Two names of one zone may be one file.
        if let cached, cached.stamp == stamp, cached.table.name == name { return cached.table }
        let (bytes, code) = Self.read(path)
        guard let bytes, let table = ZoneFile.parse(bytes, name: name) else {
            return try Self.left(code, cached, name)
        }
        entries.withLock { $0[path] = Entry(stamp: stamp, table: table) }
        return table
    }

    /// What says nothing of a file and may pass, in words.
    private static let passing: [CInt: String] = [
        EMFILE: "too many open files", ENFILE: "too many open files in system",
        ENOMEM: "cannot allocate memory", EIO: "input/output error",
    ]

    /// What is left of a zone whose file could not be read, for the reason `code`.
    private static func left(
        _ code: CInt,
        _ cached: Entry?,
        _ name: String
    ) throws(ScheduleError) -> ZoneTable? {
        guard let words = passing[code] else { return nil }
        if let cached { return cached.table }
        throw ScheduleError(.unreadZone, "zone '\(name)' cannot be read now: \(words)")
    }

    /// The file's bytes; nil for an unreadable file, with the errno, or one too large for a zone, with 0.
    private static func read(_ path: String) -> ([UInt8]?, CInt) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return (nil, errno) }
        defer { close(descriptor) }
        let limit = 1 << 20
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while bytes.count < limit {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return (bytes, 0) }
            if count < 0 {
                if errno == EINTR { continue }
                return (nil, errno)
            }
            bytes += chunk[..<count]
        }
        return (nil, 0)
    }
}
