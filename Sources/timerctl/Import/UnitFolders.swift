// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Where units lie: systemd.unit(5), "Unit file load path".
struct UnitFolders {
    /// The folders; the first that has the unit counts.
    var paths: [String]

    /// The folders of the system's units, or of the user's own.
    init(
        isUser: Bool,
        home: String,
        environment: (String) -> String? = { getenv($0).map { String(cString: $0) } }
    ) {
        paths =
            isUser
            ? Self.user(home, environment)
            : [
                "/etc/systemd/system.control", "/run/systemd/system.control",
                "/run/systemd/transient", "/run/systemd/generator.early", "/etc/systemd/system",
                "/etc/systemd/system.attached", "/run/systemd/system",
                "/run/systemd/system.attached", "/run/systemd/generator",
                "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system",
                "/run/systemd/generator.late",
            ]
    }

    private static func user(_ home: String, _ environment: (String) -> String?) -> [String] {
        /// By the XDG Base Directory Specification: what is no absolute path does not count.
        func folders(_ variable: String, _ usual: String...) -> [String] {
            let stated = (environment(variable) ?? "").split(separator: ":").map(String.init)
                .filter { $0.hasPrefix("/") }
            return stated.isEmpty ? usual : stated
        }
        let config = folders("XDG_CONFIG_HOME", "\(home)/.config")
        let run = folders("XDG_RUNTIME_DIR", "/run/user/\(geteuid())")
        func units(_ folders: [String], _ name: String = "user") -> [String] {
            folders.map { "\($0)/systemd/\(name)" }
        }
        let all: [[String]] = [
            units(config + run, "user.control"), units(run, "transient"),
            units(run, "generator.early"), units(config),
            units(folders("XDG_CONFIG_DIRS", "/etc/xdg")), units(["/etc"] + run + ["/run"]),
            units(run, "generator"), units(folders("XDG_DATA_HOME", "\(home)/.local/share")),
            units(folders("XDG_DATA_DIRS", "/usr/local/share", "/usr/share")),
            units(["/usr/local/lib", "/usr/lib"]), units(run, "generator.late"),
        ]
        return all.flatMap(\.self)
    }

    /// The unit with its drop-ins; nil if it has no file.
    ///
    /// - Throws: 65 for a unit that is masked, 74 for a file that cannot be read, 65 where it is not UTF-8.
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
        for path in try [file] + dropIns(of: names) {
            unit.read(try InputFile.text(of: path, isFound: true), from: path)
        }
        return unit
    }

    private func template(of name: String, instance: String) -> String {
        let at = name.firstIndex(of: "@") ?? name.startIndex
        let suffix = name.lastIndex(of: ".") ?? name.endIndex
        return String(name[...at] + name[suffix...])
    }

    /// The drop-ins, sorted by file name; of two with one name the one in the earlier folder counts.
    private func dropIns(of names: [String]) throws(Failure) -> [String] {
        var files: [String: String] = [:]
        for folder in names.flatMap(Self.dropInFolders) {
            for path in paths {
                // As a unit itself is passed over in a folder of another user's.
                let names = try InputFile.names(in: "\(path)/\(folder)", skipsForbidden: true) ?? []
                for file in names where file.hasSuffix(".conf") {
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
}
