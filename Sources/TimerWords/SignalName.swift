// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The name of a signal, as `kill -l` has it.
public enum SignalName {
    /// "9 (KILL)"; a number without a name stands alone.
    public static func words(_ signal: Int32) -> String {
        names[signal].map { "\(signal) (\($0))" } ?? "\(signal)"
    }

    private static let names: [Int32: String] = [
        SIGHUP: "HUP", SIGINT: "INT", SIGQUIT: "QUIT", SIGILL: "ILL", SIGTRAP: "TRAP",
        SIGABRT: "ABRT", SIGBUS: "BUS", SIGFPE: "FPE", SIGKILL: "KILL", SIGUSR1: "USR1",
        SIGSEGV: "SEGV", SIGUSR2: "USR2", SIGPIPE: "PIPE", SIGALRM: "ALRM", SIGTERM: "TERM",
        SIGSTKFLT: "STKFLT", SIGCHLD: "CHLD", SIGCONT: "CONT", SIGSTOP: "STOP", SIGTSTP: "TSTP",
        SIGTTIN: "TTIN", SIGTTOU: "TTOU", SIGURG: "URG", SIGXCPU: "XCPU", SIGXFSZ: "XFSZ",
        SIGVTALRM: "VTALRM", SIGPROF: "PROF", SIGWINCH: "WINCH", SIGIO: "IO", SIGPWR: "PWR",
        SIGSYS: "SYS",
    ]
}
