// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Where units lie: systemd.unit(5), "Unit file load path".
struct UnitFolders {
    /// The folders; the first that has the unit counts.
    var paths: [String]

    /// The folders of the system's units, or of the user's own.
    init(isUser: Bool, home: String) {
        paths =
            isUser
            ? [
                "\(home)/.config/systemd/user", "/etc/systemd/user", "/run/systemd/user",
                "\(home)/.local/share/systemd/user", "/usr/local/lib/systemd/user",
                "/usr/lib/systemd/user",
            ]
            : [
                "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system",
                "/usr/lib/systemd/system", "/lib/systemd/system",
            ]
    }

    /// The unit with its drop-ins; nil if it has no file.
    ///
    /// - Throws: 65 for a unit that is masked, 74 for a file that cannot be read.
    func unit(_ name: String) throws(Failure) -> UnitFile? {
        var unit = UnitFile(name: name)
        // "a@b.timer" may have a file of its own, else "a@.timer" is its file.
        let names =
            [name] + (unit.instance.map { template(of: name, instance: $0) }.map { [$0] } ?? [])
        let files = names.flatMap { name in paths.map { "\($0)/\(name)" } }
        guard let file = files.first(where: { access($0, F_OK) == 0 }) else { return nil }
        if let target = realpath(file, nil) {
            defer { free(target) }
            if String(cString: target) == "/dev/null" {
                throw Failure(.badData, "'\(name)' is masked, by '\(file)'")
            }
        }
        unit.read(try Self.text(of: file), from: file)
        for path in dropIns(of: names) { unit.read(try Self.text(of: path), from: path) }
        return unit
    }

    private func template(of name: String, instance: String) -> String {
        let at = name.firstIndex(of: "@") ?? name.startIndex
        let suffix = name.lastIndex(of: ".") ?? name.endIndex
        return String(name[...at] + name[suffix...])
    }

    /// The drop-ins, sorted by file name; of two with one name the one in the earlier folder counts.
    private func dropIns(of names: [String]) -> [String] {
        var files: [String: String] = [:]
        for folder in names.flatMap(Self.dropInFolders) {
            for path in paths {
                for file in Self.files(in: "\(path)/\(folder)") where file.hasSuffix(".conf") {
                    if files[file] == nil { files[file] = "\(path)/\(folder)/\(file)" }
                }
            }
        }
        return files.sorted { $0.key < $1.key }.map(\.value)
    }

    /// "a-b.timer.d", "a-.timer.d" and "timer.d" for "a-b.timer".
    private static func dropInFolders(of name: String) -> [String] {
        let suffix = name.lastIndex(of: ".") ?? name.endIndex
        let stem = name[..<suffix]
        let dashes = stem.indices.filter {
            stem[$0] == "-" && stem.index(after: $0) < stem.endIndex
        }
        let prefixes = dashes.reversed().map { stem[...$0] }
        return ([stem] + prefixes).map { "\($0)\(name[suffix...]).d" }
            + ["\(name[suffix...].dropFirst()).d"]
    }

    private static func files(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
            )
        }
        return names
    }

    private static func text(of path: String) throws(Failure) -> String {
        String(decoding: try InputFile.bytes(of: path), as: UTF8.self)
    }
}
