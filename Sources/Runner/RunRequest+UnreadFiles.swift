// SPDX-License-Identifier: Apache-2.0

import JobModel

extension RunRequest {
    /// Has the command's own process read variables from files first, with its owner's rights: what is secret in
    /// them is known to nobody else.
    ///
    /// `keepingOwn`: what `environment` has of timerd's own variables (`TIMERD_…`) stays.
    package mutating func readVariables(from files: [String]?, keepingOwn: Bool = false) {
        guard let files, !files.isEmpty else { return }
        let words = (keepingOwn ? [Self.keepingOwn] : []) + files
        argv = [RunnerProgram.besideThisOne, "--with-environment"] + words + ["--"] + argv
    }

    /// As environment.h of timerd-runner has it; no file is called so, as each has an absolute path.
    private static let keepingOwn = "--keeping-own"

    /// This request without the files that its command could not begin for, which `result` names, or in `/` where that is for
    /// its working directory; nil if neither is why.
    ///
    /// Which variables' files it names is known by the words of `--with-environment` (environment.c of timerd-runner) alone:
    /// who changes those changes them here.
    package func withoutUnread(_ result: RunResult) -> Self? {
        var rest = self
        rest.output = RunOutput(limit: output.limit)
        switch (result.refused, result.outcome) {
        case (.workingDirectory?, _) where workingDirectory != "/":
            rest.workingDirectory = "/"
            return rest
        case (.secret(let path)?, _) where !secrets.isEmpty:
            rest.secrets.removeAll { $0.path == path }
            // A path that is cut in the report, or no room for them.
            if rest.secrets.count == secrets.count { rest.secrets = [] }
            return rest
        case (_, .exited(65)), (_, .exited(66)):
            // What reads the files says so before the command could say anything.
            let said = String(decoding: result.output.stderr, as: UTF8.self)
            guard argv.count > 1, argv[1] == "--with-environment",
                let end = argv.dropFirst(2).firstIndex(of: "--")
            else { return nil }
            let keepsOwn = argv[2] == Self.keepingOwn
            let all = argv[(keepsOwn ? 3 : 2)..<end]
            let files = all.filter { file in
                let path = file.hasPrefix("-") ? String(file.dropFirst()) : file
                return !said.hasPrefix("timerd: --env-file \(path): ")
            }
            guard files.count < all.count else { return nil }
            rest.argv = Array(argv[(end + 1)...])
            rest.readVariables(from: files, keepingOwn: keepsOwn)
            return rest
        default: return nil
        }
    }
}
