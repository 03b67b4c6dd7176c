// SPDX-License-Identifier: Apache-2.0

/// Who has told a run to end; its timeout, a signal from elsewhere and the end of the daemon are none of these.
public enum RunStop: String, Codable, Hashable, Sendable, CaseIterable {
    /// Its job's owner, by `run.kill`.
    case owner
    /// An administrator who is not the owner, by `run.kill`.
    case administrator
    /// Whoever ended its job: by `kill` of `job.invalidate`, or before its command began.
    case invalidate
    /// A newer fire of its job, whose `overlap` is `replace`.
    case replace
}
