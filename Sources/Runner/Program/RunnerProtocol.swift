// SPDX-License-Identifier: Apache-2.0

/// What daemon and runner say to each other, of one version: docs/runner-protocol.md.
///
/// A version adds to the one before it, and changes nothing of that. So two of different versions speak the lower one.
struct RunnerProtocol: Sendable {
    /// What an order may have that a runner of an older version does not understand.
    enum Part: Sendable {
        case sessions, loginEnvironment, credentials, passed
    }

    var version: UInt32
    /// The version that added a part; a part that is not here is in all versions.
    var since: [Part: UInt32] = [:]

    /// What this daemon speaks.
    ///
    /// Who adds a part to an order gives it a case of `Part`, the next version, and the part that version here;
    /// docs/runner-protocol.md has the same table. The runner's is `PROTOCOL_VERSION`, which a test compares.
    static let current = RunnerProtocol(version: 1)

    /// Whether a runner of that version has a part.
    func has(_ part: Part, at version: UInt32) -> Bool { since[part, default: 1] <= version }

    /// The first part of a request that a runner of that version does not understand; nil where it understands all.
    func lack(of request: RunRequest, at version: UInt32) -> Part? {
        var parts: [Part] = []
        if request.session != nil { parts.append(.sessions) }
        if request.completesEnvironment { parts.append(.loginEnvironment) }
        if !request.secrets.isEmpty { parts.append(.credentials) }
        return parts.first { !has($0, at: version) }
    }
}

extension StartRefusal {
    /// A runner of another release does not understand what a run needs.
    static func lacks(_ part: RunnerProtocol.Part, _ runner: RunnerReport.Welcome) -> Self {
        let words =
            switch part {
            case .sessions: "PAM sessions"
            case .loginEnvironment: "environments as after a login"
            case .credentials: "credentials"
            case .passed: "output that was passed on"
            }
        return Self(
            """
            timerd-runner is still that of release \(runner.release), which knows nothing of \(words); \
            it is replaced once it has no runs
            """
        )
    }
}
