// SPDX-License-Identifier: Apache-2.0

import CoreFoundation
import Glibc
import JobModel
import LinuxSystem
import Platform
import SystemPackage

/// A file that a run is given a copy of, in the folder of its credentials.
package struct RunSecret: Hashable, Sendable {
    /// What the copy is called.
    var name: String
    /// What is copied, by its absolute path.
    var path: String
    /// Whether it is the administrator's, and read with the runner's rights; else with those of the run's user.
    var isAdministrators = false
}

/// Where the administrator puts down what users' runs are to be given.
package struct SecretsFolder: Hashable, Sendable {
    /// Absolute.
    var path: String
    /// Whether each user has a folder in it, by name: with a daemon of root's.
    var isOfAll: Bool

    package init(path: String, isOfAll: Bool) { (self.path, self.isOfAll) = (path, isOfAll) }

    /// A file server may be slow; who waits for it keeps nobody else from a run.
    private static let threads = BlockingThreads(named: "timerd-secrets", limit: 8)

    /// What a job's credentials are for a run of `owner`.
    ///
    /// Their contents are not looked at here: neither the daemon nor the runner ever has them.
    ///
    /// - Throws: for a file of the administrator's that is not there, or cannot be trusted.
    package func secrets(
        _ credentials: [String]?,
        of owner: Account
    ) async throws(StartRefusal) -> [RunSecret] {
        let secrets = unchecked(credentials, of: owner)
        let toCheck = secrets.filter(\.isAdministrators)
        guard !toCheck.isEmpty else { return secrets }
        if isOfAll, owner.name.contains("/") || owner.name.hasPrefix(".") {
            throw StartRefusal("a user called '\(owner.name)' has no folder in '\(path)'")
        }
        let refusal = await Self.threads.run {
            toCheck.lazy.compactMap(Self.problem).first.map { StartRefusal($0) }
        }
        if let refusal { throw refusal }
        return secrets
    }

    /// What a run is given as files, as far as that can be said without a look at one.
    package func unchecked(_ credentials: [String]?, of owner: Account) -> [RunSecret] {
        (credentials ?? []).compactMap(JobCredential.init).map { credential in
            credential.file.map { RunSecret(name: credential.name, path: $0) }
                ?? RunSecret(
                    name: credential.name,
                    path: file(credential.name, of: owner),
                    isAdministrators: true
                )
        }
    }

    private func file(_ name: String, of owner: Account) -> String {
        isOfAll ? "\(path)/\(owner.name)/\(name)" : "\(path)/\(name)"
    }

    /// Why a file cannot be given to a run; nil if it can be, as far as the daemon sees.
    private static func problem(with secret: RunSecret) -> String? {
        let doing = "cannot read credential '\(secret.name)' from '\(secret.path)'"
        // First, for it goes no further than where somebody else may have put a link.
        if let problem = TrustedPath.problem(with: secret.path) {
            return "\(doing): it is not believed: \(problem)"
        }
        var file = stat()
        guard stat(secret.path, &file) == 0 else { return "\(doing): \(Errno.last.text)" }
        if file.st_mode & 0o077 != 0 {
            return "\(doing): others than its owner may read it; accepted is mode 0600 or 0400"
        }
        return nil
    }
}
