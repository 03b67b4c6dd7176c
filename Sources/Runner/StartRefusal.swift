// SPDX-License-Identifier: Apache-2.0

import Platform
package import SystemPackage

/// Why a run is refused or could not be started, as text for the user.
package struct StartRefusal: Error, Hashable {
    package let message: String
    /// What it is about, where that decides what follows.
    package let subject: Subject?

    package enum Subject: Hashable, Sendable {
        /// The user database has no such user.
        case user
        case workingDirectory
        /// The file of a secret; nil where it is not known which, or there is no room for any.
        case secret(path: String?)
        /// The want of descriptors or memory in this process, which says nothing of the run: it may begin later.
        case shortage
    }

    package init(_ message: String, on subject: Subject? = nil) {
        (self.message, self.subject) = (message, subject)
    }

    package static func noUser(_ uid: UInt32) -> Self {
        Self("user \(uid) does not exist (any more)", on: .user)
    }

    /// `doing` something failed for the reason `cause`: `cannot run '/no/such': permission denied`.
    package init(_ doing: String, _ cause: Errno, on subject: Subject? = nil) {
        self.init("\(doing): \(cause.text)", on: subject)
    }
}

extension StartRefusal {
    /// A value in single quotes, cut where it is long, with control characters made visible.
    static func quote(_ value: String) -> String {
        let escaped = value.unicodeScalars.prefix(200).map { $0.escaped(asASCII: false) }.joined()
        return "'\(escaped)\(value.unicodeScalars.count > 200 ? "..." : "")'"
    }
}

extension RunRequest {
    /// Refuses what no process can be given.
    func check() throws(StartRefusal) {
        guard let command = argv.first, !command.isEmpty else {
            throw StartRefusal("the command is empty")
        }
        for (index, argument) in argv.enumerated() where argument.utf8.contains(0) {
            throw StartRefusal(
                "argument \(index) \(StartRefusal.quote(argument)) contains a NUL byte"
            )
        }
        guard workingDirectory.hasPrefix("/"), !workingDirectory.utf8.contains(0) else {
            throw StartRefusal(
                "working directory \(StartRefusal.quote(workingDirectory)) is not an absolute path",
                on: .workingDirectory
            )
        }
        for (name, value) in environment {
            try Self.check(variable: name, value: value)
        }
        try CommandLookup(self).check()
    }

    private static func check(variable name: String, value: String) throws(StartRefusal) {
        guard let first = name.utf8.first, !name.utf8.contains(0), !name.utf8.contains(0x3D) else {
            throw StartRefusal(
                "variable \(StartRefusal.quote(name)) is empty, or contains '=' or a NUL byte"
            )
        }
        // POSIX has no such names, and shells cannot set them.
        guard !(0x30...0x39).contains(first) else {
            throw StartRefusal("variable \(StartRefusal.quote(name)) begins with a digit")
        }
        guard !value.utf8.contains(0) else {
            throw StartRefusal(
                """
                variable \(StartRefusal.quote(name)) has the value \(StartRefusal.quote(value)), \
                with a NUL byte
                """
            )
        }
    }
}
