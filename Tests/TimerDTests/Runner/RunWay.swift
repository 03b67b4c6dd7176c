// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel

@testable import TimerD

/// One way in which a command can start, end, hang, fork, daemonise, flood, or treat its pipes.
///
/// FOLDER in its words stands for a folder that `RunWaysTests` has prepared.
struct RunWay: Sendable, CustomStringConvertible {
    var description: String
    var argv: [String]
    var outcome: RunOutcome
    /// What it writes to its standard output; nil where that is not what it is about.
    var output: String?
    var input: [UInt8] = []
    var directory = "/"
    var limits = ProcessLimits()
    var timeout: Duration?
    /// How many bytes it writes to each stream in all; nil where `output` says it.
    var size: Int?
    /// Whether it leaves a process that is not ended: its number is in FOLDER/left.
    var leaves = false
    /// Whether the way is one of a user other than the daemon's.
    var isOthers = false

    /// A shell's way.
    init(_ description: String, _ script: String, _ outcome: RunOutcome, _ output: String? = "") {
        self.init(description, argv: ["/bin/sh", "-c", script], outcome, output)
    }

    init(_ description: String, argv: [String], _ outcome: RunOutcome, _ output: String? = "") {
        self.description = description
        self.argv = argv
        self.outcome = outcome
        self.output = output
    }

    /// One that cannot be started, for that reason.
    init(_ description: String, argv: [String], refused: String) {
        self.init(description, argv: argv, .notStarted(refused))
    }

    func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

extension RunWay {
    static let all = starts + ends + hangs + families + inputs + outputs + limited

    static let starts = [
        Self("no such file", argv: ["/no/such"], refused: "cannot run '/no/such': \(missing)"),
        Self(
            "no such file in PATH",
            argv: ["no-such"],
            refused: "cannot run 'no-such': \(missing) in PATH '\(RunEnvironment.path)'"
        ),
        Self("a directory", argv: ["/tmp"], refused: "cannot run '/tmp': is a directory"),
        Self("a device", argv: ["/dev/null"], refused: "cannot run '/dev/null': \(denied)"),
        Self(
            "not executable",
            argv: ["FOLDER/plain"],
            refused: "cannot run 'FOLDER/plain': \(denied)"
        ),
        Self(
            "links in a circle",
            argv: ["FOLDER/circle"],
            refused: "cannot run 'FOLDER/circle': too many levels of symbolic links"
        ),
        Self(
            "no interpreter",
            argv: ["FOLDER/astray"],
            refused: "cannot run 'FOLDER/astray': its interpreter '/no/such': \(missing)"
        ),
        Self(
            "an interpreter that is none",
            argv: ["FOLDER/misled"],
            refused: "cannot run 'FOLDER/misled': its interpreter '/tmp': \(denied)"
        ),
        // A shell, and execvp(3), would read it as a shell script; who wants that says --shell.
        Self(
            "a script without an interpreter",
            argv: ["FOLDER/text"],
            refused: "cannot run 'FOLDER/text': exec format error"
        ),
        Self(
            "an empty file",
            argv: ["FOLDER/empty"],
            refused: "cannot run 'FOLDER/empty': exec format error"
        ),
        Self(
            "a file that is being written",
            argv: ["FOLDER/busy"],
            refused: "cannot run 'FOLDER/busy': text file busy"
        ),
        Self("no words", argv: [], refused: "the command is empty"),
        Self("a script by its path", argv: ["FOLDER/script", "a b"], .exited(0), "a b\n"),
        Self(
            "arguments of many kB",
            argv: ["/bin/sh", "-c", "echo ${#1} ${#2}", "sh", long(100_000), long(20_000)],
            .exited(0),
            "100000 20000\n"
        ),
        Self(
            "an argument that is too long",
            argv: ["/bin/true", long(131_072)],
            refused: "cannot run '/bin/true': argument list too long"
        ),
        Self(
            "no such working directory",
            argv: ["/bin/pwd"],
            refused: "cannot enter working directory '/no/such': \(missing)"
        ).with { $0.directory = "/no/such" },
        Self(
            "a working directory that is a file",
            argv: ["/bin/pwd"],
            refused: "cannot enter working directory 'FOLDER/plain': not a directory"
        ).with { $0.directory = "FOLDER/plain" },
        Self(
            "a working directory of somebody else",
            argv: ["/bin/pwd"],
            refused: "cannot enter working directory 'FOLDER/locked': \(denied)"
        ).with {
            $0.directory = "FOLDER/locked"
            $0.isOthers = true
        },
        Self(
            "a command of somebody else",
            argv: ["FOLDER/locked/script"],
            refused: "cannot run 'FOLDER/locked/script': \(denied)"
        ).with { $0.isOthers = true },
    ]

    static let ends = [
        Self("ends well", "exit 0", .exited(0)),
        Self("fails", "exit 3", .exited(3)),
        Self("fails with the last status", "exit 255", .exited(255)),
        Self("is terminated", "kill -TERM $$; sleep 1000", .signalled(SIGTERM)),
        Self("is killed", "kill -KILL $$; sleep 1000", .signalled(SIGKILL)),
        Self("crashes", "kill -SEGV $$; sleep 1000", .signalled(SIGSEGV)),
        Self("aborts without a core", "ulimit -c 0; kill -ABRT $$", .signalled(SIGABRT)),
        Self("becomes another program", "exec sleep 0.05", .exited(0)),
        Self("ends by its child's status", "(exit 9) & wait $!; exit $?", .exited(9)),
        Self("is signalled by its own group", "kill -TERM 0; sleep 1000", .signalled(SIGTERM)),
    ]

    static let hangs = [
        Self("hangs", "exec sleep 1000", .timedOut),
        Self("hangs in a child", "sleep 1000; true", .timedOut),
        Self("ends well when asked to", "trap 'exit 0' TERM; sleep 1000 & wait", .timedOut),
        Self("ignores SIGTERM", "trap '' TERM; sleep 1000; true", .timedOut),
        Self("ignores all that can be", "trap '' 1 2 3 15; exec sleep 1000", .timedOut),
        Self("stops itself", "kill -STOP $$", .timedOut),
        Self("stops its group and ignores SIGTERM", "trap '' TERM; kill -STOP 0", .timedOut),
        Self("waits for a file that never opens", "cat FOLDER/fifo", .timedOut),
    ].map { way in way.with { $0.timeout = .milliseconds(150) } }

    /// What becomes of its descendants.
    ///
    /// Of its process group nobody survives. Who has left that is no longer the run's and is left
    /// alone: a daemon that was started on purpose goes on.
    static let families = [
        Self("leaves a child with its pipes", "sleep 1000 & exit 0", .exited(0)),
        Self("leaves a child without its pipes", "sleep 1000 <&- >&- 2>&- & exit 0", .exited(0)),
        Self("leaves an orphan", "(sleep 1000 &); exit 4", .exited(4)),
        Self("leaves one that ignores SIGTERM", "trap '' TERM; sleep 1000 & exit 0", .exited(0)),
        Self("leaves one that is stopped", "sleep 1000 & kill -STOP $!; exit 0", .exited(0)),
        Self("leaves a zombie", "true & exec sleep 0.05", .exited(0)),
        Self(
            "leaves fifty",
            "i=0; while [ $i -lt 50 ]; do sleep 1000 & i=$((i + 1)); done; exit 7",
            .exited(7)
        ),
        Self(
            "leaves a tree",
            "sh -c 'sleep 1000 & sh -c \"sleep 1000 & wait\"' & exit 0",
            .exited(0)
        ),
        Self("is killed with children", "sleep 1000 & kill -KILL $$", .signalled(SIGKILL)),
        Self("leaves a session of its own", "setsid \(leave) & \(untilLeft)", .exited(0))
            .with { $0.leaves = true },
        Self("daemonises", "(setsid sh -c '(\(quotedLeave) &)' &); \(untilLeft)", .exited(0))
            .with { $0.leaves = true },
        // By bash: other shells have job control at a terminal alone.
        Self(
            "leaves a group of its own",
            argv: ["/bin/bash", "-c", "set -m; \(leave) & \(untilLeft)"],
            .exited(0)
        ).with { $0.leaves = true },
    ]

    static let inputs = [
        Self("finds no input", "cat; echo end", .exited(0), "end\n"),
        Self("reads its input", "wc -c", .exited(0), "300000\n").with { $0.input = bytes(300_000) },
        Self("reads late", "sleep 0.05; wc -c", .exited(0), "65536\n")
            .with { $0.input = bytes(65_536) },
        Self("reads some of it", "head -c 10 >/dev/null; echo x", .exited(0), "x\n")
            .with { $0.input = bytes(3_000_000) },
        Self("reads none of 64 KiB", "echo x", .exited(0), "x\n").with { $0.input = bytes(65_536) },
        Self("reads none of 3 MB, and waits", "sleep 0.05; echo x", .exited(0), "x\n")
            .with { $0.input = bytes(3_000_000) },
        Self("closes its input", "exec 0<&-; sleep 0.05; echo x", .exited(0), "x\n")
            .with { $0.input = bytes(3_000_000) },
        Self("closes all its pipes", "exec 0<&- 1>&- 2>&-; sleep 0.05; exit 5", .exited(5))
            .with { $0.input = bytes(3_000_000) },
        Self("closes all its pipes and hangs", "exec 0<&- 1>&- 2>&-; sleep 1000", .timedOut)
            .with { $0.timeout = .milliseconds(100) },
    ]

    static let outputs = [
        Self("writes without a newline", "printf end", .exited(0), "end"),
        Self("writes to the end", "echo a; kill -KILL $$", .signalled(SIGKILL), "a\n"),
        Self("floods both streams", "\(flood) >&2 & \(flood); wait", .exited(0), nil)
            .with { $0.size = 20_000_000 },
        Self("floods and hangs", "exec yes", .timedOut, nil)
            .with { $0.timeout = .milliseconds(200) },
        Self("leaves a flood", "yes & yes >&2 & sleep 0.05; exit 8", .exited(8), nil),
        Self(
            "sends its streams to each other",
            "echo a >&2; exec 2>&1; echo b >&2",
            .exited(0),
            "b\n"
        ),
    ]

    static let limited = [
        Self("has its mask", "umask", .exited(0), "0077\n").with { $0.limits.umask = 0o077 },
        Self("is nice", "nice", .exited(0), "7\n").with { $0.limits.nice = 7 },
        Self(
            "is not to be preferred",
            argv: ["nice"],
            refused: "cannot set niceness to -5: \(denied)"
        )
        .with {
            $0.limits.nice = -5
            $0.isOthers = true
        },
        Self("has its limit of memory", "ulimit -v", .exited(0), "1048576\n")
            .with { $0.limits.memoryMax = 1 << 30 },
        // The kernel has given its memory away when it finds that there is no room for the new.
        Self("has too little memory to begin", argv: ["/bin/true"], .signalled(SIGSEGV))
            .with { $0.limits.memoryMax = 4096 },
        Self("uses up its processor time", "while :; do :; done", .signalled(SIGXCPU))
            .with { $0.limits.cpuTime = 1 },
    ]

    private static let missing = "no such file or directory"
    private static let denied = "permission denied"
    private static let flood = "head -c 20000000 /dev/zero"
    private static let leave = "sh -c 'echo $$ >FOLDER/left; exec sleep 1000'"
    private static let quotedLeave = "sh -c \"echo \\$\\$ >FOLDER/left; exec sleep 1000\""
    private static let untilLeft = "while [ ! -s FOLDER/left ]; do sleep 0.01; done"

    private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }
    private static func bytes(_ count: Int) -> [UInt8] { Array(repeating: 0x78, count: count) }
}
