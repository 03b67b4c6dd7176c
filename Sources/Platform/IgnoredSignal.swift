// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What whoever started a program has had it ignore, as nohup(1) does with SIGHUP.
public enum IgnoredSignal {
    /// To be asked before a handler is set.
    public static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        // Handlers cannot be compared in Swift, their addresses can.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
