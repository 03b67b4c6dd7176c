// SPDX-License-Identifier: Apache-2.0

/// How a user's maintenance is ended.
public enum MaintenanceEnd {
    /// The command for it; `owner`: whose it is, as root has to say, or nil for the caller's own.
    public static func command(of owner: String?) -> String {
        let own = "timerctl maintenance off"
        return owner.map { "\(own) --owner \(ShellWords.quoted($0))" } ?? own
    }
}
