// SPDX-License-Identifier: Apache-2.0

import CSpawn
import JobModel
import SystemPackage

/// The files that a command may mean, and the refusal if none of them could be executed.
///
/// The daemon does not look at the files: it may see more than the owner of a job. The child tries them as
/// that owner, and reports the result.
struct CommandLookup: Sendable {
    /// What to execute, the first that can be: absolute, or relative to the working directory.
    ///
    /// There is none where PATH has no absolute directory.
    let files: [String]
    private let request: RunRequest
    /// Where the files come from; nil for a command with a slash.
    private let path: String?

    /// Whether another node was asked for it, whose own words are lost where these are used, as its daemon was gone when it heard
    /// of the end: its home there, its user and its PATH are not known here.
    private var isElsewhere: Bool { request.node != nil }

    /// Takes argv[0] as it is if it has a slash, else a file of that name from the run's PATH.
    ///
    /// Of the PATH only the absolute directories count.
    init(_ request: RunRequest) {
        self.request = request
        let command = request.argv[0]
        guard !command.contains("/") else {
            path = nil
            files = [command]
            return
        }
        let path = request.environment["PATH"] ?? PlainPath.folders
        self.path = path
        files = path.split(separator: ":").filter { $0.hasPrefix("/") }.map { "\($0)/\(command)" }
    }

    /// The refusal if no process could be made, or nothing to watch it with.
    func refusal(_ cause: Errno) -> StartRefusal {
        StartRefusal("cannot run \(StartRefusal.quote(request.argv[0]))", cause)
    }

    /// Refuses a command for which there is no file to try: a runner may not know such an order.
    func check() throws(StartRefusal) {
        if files.isEmpty { throw refusalInPath(path ?? "", .noSuchFileOrDirectory) }
    }

    /// The refusal if the child could not become the command.
    func refusal(_ report: cspawn_report) -> StartRefusal {
        let cause = Errno(rawValue: report.error)
        let limits = request.limits
        switch cspawn_step(UInt32(report.step)) {
        case cspawn_step_session:
            return StartRefusal("cannot make a session for the run (setsid)", cause)
        case cspawn_step_descriptors:
            // Some containers forbid close_range(2), which no kernel before Linux 5.9 has.
            return StartRefusal("cannot set up the run's descriptors", cause)
        case cspawn_step_keyring:
            return StartRefusal("cannot make a session keyring for the run", cause)
        case cspawn_step_memory:
            return StartRefusal("cannot limit memory to \(limits.memoryMax ?? 0) bytes", cause)
        case cspawn_step_cpu:
            return StartRefusal("cannot limit processor time to \(limits.cpuTime ?? 0) s", cause)
        case cspawn_step_nice:
            return StartRefusal("cannot set niceness to \(limits.nice ?? 0)", cause)
        case cspawn_step_groups, cspawn_step_gid, cspawn_step_uid, cspawn_step_verify:
            let user = request.credentials.map { "user \($0.uid)" } ?? "its owner"
            return StartRefusal("cannot become \(user)", cause)
        case cspawn_step_session_opening:
            let user = request.session?.user ?? request.user
            let why = report.headText ?? "the process that was to open it has ended"
            return StartRefusal("cannot open a PAM session for \(StartRefusal.quote(user)): \(why)")
        case cspawn_step_secret_source: return refusalOfSecret(report, cause)
        case cspawn_step_secret_copy:
            let path = StartRefusal.quote(report.headText ?? "")
            let doing = "cannot make \(path) for the run's credentials"
            return StartRefusal(doing, cause, on: .secret(path: nil))
        case cspawn_step_control_group:
            return StartRefusal("cannot enter the run's control group", cause)
        case cspawn_step_directory:
            let name = StartRefusal.quote(request.workingDirectory)
            let directory = isElsewhere ? "its working directory" : "working directory \(name)"
            return StartRefusal("cannot enter \(directory)", cause, on: .workingDirectory)
        case cspawn_step_exec:
            return refusalOfFile(report, cause)
        default:
            return refusal(cause)
        }
    }

    private func refusalOfFile(_ report: cspawn_report, _ cause: Errno) -> StartRefusal {
        if isElsewhere, path != nil { return refusal(cause) }
        let isThere = files.indices.contains(Int(report.file))
        if let path, !isThere {
            return refusalInPath(path, cause == .permissionDenied ? cause : .noSuchFileOrDirectory)
        }
        let doing = "cannot run \(StartRefusal.quote(files[isThere ? Int(report.file) : 0]))"
        // The one reason of that in execve(2), which its words do not tell.
        if isThere, cause == .resourceTemporarilyUnavailable {
            return StartRefusal("\(doing): its user has as many processes as may be (ulimit -u)")
        }
        guard isThere, Self.missing.contains(cause) else { return StartRefusal(doing, cause) }
        guard let interpreter = report.interpreter else {
            return cause == .noSuchFileOrDirectory
                ? StartRefusal("\(doing): its loader or interpreter is missing")
                : StartRefusal(doing, cause)
        }
        return StartRefusal("\(doing): its interpreter \(StartRefusal.quote(interpreter))", cause)
    }

    private func refusalInPath(_ path: String, _ cause: Errno) -> StartRefusal {
        StartRefusal("\(refusal(cause).message) in PATH \(StartRefusal.quote(path))")
    }

    private func refusalOfSecret(_ report: cspawn_report, _ cause: Errno) -> StartRefusal {
        let head = report.headBytes
        let path = String(decoding: head, as: UTF8.self)
        let secrets = request.secrets
        let whole = secrets.first { $0.path.utf8.elementsEqual(head) }
        // A very long path comes without its end.
        let isCut = head.count == MemoryLayout.size(ofValue: report.head)
        let cut = isCut ? secrets.first { $0.path.utf8.starts(with: head) } : nil
        let name = StartRefusal.quote((whole ?? cut)?.name ?? "")
        let doing = "cannot read credential \(name) from \(StartRefusal.quote(path))"
        let subject = StartRefusal.Subject.secret(path: whole?.path)
        return switch cause {
        case Errno(rawValue: 0): StartRefusal("\(doing): it is no file", on: subject)
        case .fileTooLarge:
            StartRefusal(
                "\(doing): with it they have more than \(Limits.credentialBytes) bytes",
                on: subject
            )
        default: StartRefusal(doing, cause, on: subject)
        }
    }

    /// The errors by which execve(2) may also mean a script's interpreter, which it does not name.
    private static let missing: Set<Errno> = [
        .noSuchFileOrDirectory, .notDirectory, .permissionDenied, .tooManySymbolicLinkLevels,
        .fileNameTooLong,
    ]
}

extension cspawn_report {
    /// What `head` says in words; nil for nothing.
    fileprivate var headText: String? {
        head_count > 0 ? String(decoding: headBytes, as: UTF8.self) : nil
    }

    fileprivate var headBytes: [UInt8] {
        withUnsafeBytes(of: head) { Array($0.prefix(Int(max(head_count, 0)))) }
    }

    /// What stands after `#!` in the first line of a script; nil for other files.
    fileprivate var interpreter: String? {
        withUnsafeBytes(of: head) { head in
            let start = head.prefix(Int(head_count))
            guard start.starts(with: "#!".utf8) else { return nil }
            let line = start.dropFirst(2).prefix { $0 != UInt8(ascii: "\n") }
            let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            return words.first.map { String(decoding: $0, as: UTF8.self) }
        }
    }
}
