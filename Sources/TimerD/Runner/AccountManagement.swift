// SPDX-License-Identifier: Apache-2.0

import CPAM

/// What the system's administrators say of who may use his account now: PAM's account management.
///
/// Asked as cron does before each command: an account that has expired, or that a module of PAM
/// keeps out, has no runs. That a password is locked says nothing: it is not what lets a job in.
enum AccountManagement {
    /// The file of /etc/pam.d that says what is asked.
    static let service = "timerd"

    /// Returns where the account may run commands; may block for as long as a directory service does.
    ///
    /// - Throws: PAM's reason; also where PAM itself cannot be asked, for that says nothing good.
    static func check(_ account: Account) throws(StartRefusal) {
        var conversation = pam_conv(
            // Nobody is there who could answer; PAM_SILENT has modules ask nothing anyway.
            conv: { _, _, _, _ in PAM_CONV_ERR },
            appdata_ptr: nil
        )
        var started: OpaquePointer?
        var code = pam_start(service, account.name, &conversation, &started)
        guard code == PAM_SUCCESS, let handle = started else { throw refusal(account, code) }
        defer { pam_end(handle, code) }
        // A name where others have a terminal, which modules such as pam_access look at: as cron's.
        code = service.withCString { pam_set_item(handle, PAM_TTY, $0) }
        if code == PAM_SUCCESS { code = pam_acct_mgmt(handle, Int32(bitPattern: PAM_SILENT)) }
        guard code == PAM_SUCCESS else { throw refusal(account, code) }
    }

    private static func refusal(_ account: Account, _ code: Int32) -> StartRefusal {
        // Needs no handle, which may be missing, to say what a code means.
        let reason = pam_strerror(nil, code).map { String(cString: $0) } ?? "error \(code)"
        return StartRefusal(
            "account \(StartRefusal.quote(account.name)) may not run commands: "
                + reason.prefix(1).lowercased() + reason.dropFirst() + " (PAM service '\(service)')"
        )
    }
}
