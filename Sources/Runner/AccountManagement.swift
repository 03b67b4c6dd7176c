// SPDX-License-Identifier: Apache-2.0

import CPAM
import Platform
import SystemPackage

/// PAM's account management: whether an account may be used now.
///
/// Asked before runs, as cron does: an account that has expired, or that a PAM module refuses, has no runs. A
/// locked password does not matter, because a job needs no password.
package enum AccountManagement {
    /// The file in /etc/pam.d that lists the modules to ask.
    static let service = "timerd"

    /// Returns if the account may run commands; may block for as long as a directory service does.
    ///
    /// - Throws: PAM's reason; also if PAM itself cannot be asked.
    package static func check(_ account: Account) throws(StartRefusal) {
        try check(account, asking: ask)
    }

    /// A refusal has to be said twice: it is remembered, and a module that got no descriptor for a moment, which others had by
    /// then given back, refuses as well.
    static func check(
        _ account: Account,
        room: () throws(Errno) -> Void = FreeDescriptor.require,
        asking: (Account) -> Int32
    ) throws(StartRefusal) {
        guard try answer(about: account, room, asking) != PAM_SUCCESS else { return }
        let code = try answer(about: account, room, asking)
        guard code == PAM_SUCCESS else { throw refusal(account, code) }
    }

    /// What PAM says of an account, where it had what it takes to ask its modules.
    private static func answer(
        about account: Account,
        _ room: () throws(Errno) -> Void,
        _ asking: (Account) -> Int32
    ) throws(StartRefusal) -> Int32 {
        do throws(Errno) {
            // Modules that cannot open their files refuse, or are passed over: neither is PAM's answer. Ahead of it too, for
            // others may give back what there was not while the modules are asked.
            try room()
            let code = asking(account)
            try room()
            if code == PAM_BUF_ERR { throw Errno.noMemory }
            return code
        } catch {
            throw StartRefusal(
                "cannot ask PAM whether account \(StartRefusal.quote(account.name)) may run commands",
                error,
                on: error.isShortage ? .shortage : nil
            )
        }
    }

    /// What PAM says of an account.
    private static func ask(_ account: Account) -> Int32 {
        var conversation = pam_conv(
            // Nobody could answer a question; PAM_SILENT keeps modules from asking one.
            conv: { _, _, _, _ in PAM_CONV_ERR },
            appdata_ptr: nil
        )
        var started: OpaquePointer?
        var code = pam_start(service, account.name, &conversation, &started)
        guard code == PAM_SUCCESS, let handle = started else {
            return code == PAM_SUCCESS ? PAM_SYSTEM_ERR : code
        }
        defer { pam_end(handle, code) }
        // Modules such as pam_access look at the terminal. There is none: as cron does, the daemon gives its
        // name.
        code = service.withCString { pam_set_item(handle, PAM_TTY, $0) }
        if code == PAM_SUCCESS { code = pam_acct_mgmt(handle, Int32(bitPattern: PAM_SILENT)) }
        return code
    }

    private static func refusal(_ account: Account, _ code: Int32) -> StartRefusal {
        // pam_strerror needs no handle; there may be none.
        let reason = pam_strerror(nil, code).map { String(cString: $0) } ?? "error \(code)"
        return StartRefusal(
            "account \(StartRefusal.quote(account.name)) may not run commands: "
                + reason.prefix(1).lowercased() + reason.dropFirst() + " (PAM service '\(service)')"
        )
    }
}
