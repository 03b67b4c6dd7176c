// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import JobModel
import SystemPackage

/// A child of the daemon from its beginning until it is reaped, once.
struct SpawnedProcess: Sendable {
    /// The pid; also the number of the group and the session, once the child has made them.
    let pid: pid_t
    /// Readable once the process has ended.
    let pidfd: FileDescriptor
    /// Where it says that it could not become the command; ends without a word if it could.
    let status: FileDescriptor
    /// The daemon's own peak, in bytes; see `usage`.
    private let inheritedPeak: Int64

    /// Starts `request`'s command, the first of `files` that can be executed.
    ///
    /// Without credentials it may block, for as long as the file system of the command or of its directory
    /// does.
    init(_ request: RunRequest, files: [String], pipes: RunPipes) throws(Errno) {
        let strings = (
            CStrings(files), CStrings(request.argv),
            CStrings(request.environment.map { "\($0)=\($1)" })
        )
        let groups = request.credentials?.groups ?? []
        var plan = cspawn_plan(request, pipes)
        var process = cspawn_process()
        let code = withExtendedLifetime(strings) { files, arguments, variables in
            request.workingDirectory.withCString { directory in
                groups.withUnsafeBufferPointer { groups in
                    plan.files = UnsafePointer(files.pointers)
                    plan.argv = UnsafePointer(arguments.pointers)
                    plan.envp = UnsafePointer(variables.pointers)
                    plan.directory = directory
                    plan.groups = groups.baseAddress
                    plan.group_count = groups.count
                    return cspawn(&plan, &process)
                }
            }
        }
        guard code == 0 else { throw Errno(rawValue: code) }
        pid = process.pid
        pidfd = FileDescriptor(rawValue: process.pidfd)
        status = FileDescriptor(rawValue: process.status)
        var own = rusage()
        // 0 is RUSAGE_SELF, which Swift imports with another type than the call takes.
        getrusage(0, &own)
        inheritedPeak = Int64(own.ru_maxrss) * 1024
    }

    /// Ends it and waits for that, for as long as the kernel takes.
    func kill() {
        Glibc.kill(pid, SIGKILL)
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) == -1, errno == EINTR {}
    }

    /// How the process ended, and what it used; to be called once, when it has ended.
    ///
    /// Nil if somebody else has reaped it.
    func reap() -> (outcome: RunOutcome, usage: RunUsage)? {
        var status: CInt = 0
        var used = rusage()
        while wait4(pid, &status, 0, &used) == -1 {
            guard errno == EINTR else { return nil }
        }
        let signal = status & 0x7F
        let outcome = signal == 0 ? RunOutcome.exited(status >> 8 & 0xFF) : .signalled(signal)
        return (outcome, usage(used))
    }

    /// What the process used, from `used`.
    ///
    /// The kernel counts its memory before the exec too, when it was a copy of the daemon: a peak that is no
    /// larger than the daemon's says nothing about the command.
    private func usage(_ used: rusage) -> RunUsage {
        let peak = Int64(used.ru_maxrss) * 1024
        return RunUsage(
            userMicroseconds: used.ru_utime.microseconds,
            systemMicroseconds: used.ru_stime.microseconds,
            peakMemory: peak > inheritedPeak ? peak : nil
        )
    }
}

extension cspawn_plan {
    /// All of the plan that is no pointer.
    fileprivate init(_ request: RunRequest, _ pipes: RunPipes) {
        self.init()
        stdio = (pipes.stdin.rawValue, pipes.stdout.rawValue, pipes.stderr.rawValue)
        if let credentials = request.credentials {
            has_credentials = true
            uid = credentials.uid
            gid = credentials.gid
        }
        has_nice = request.limits.nice != nil
        nice = request.limits.nice ?? 0
        memory_max = request.limits.memoryMax ?? .max
        cpu_time = request.limits.cpuTime ?? .max
        open_files = DescriptorLimit.inherited
        umask = request.limits.umask
    }
}

extension timeval {
    fileprivate var microseconds: Int64 { Int64(tv_sec) * 1_000_000 + Int64(tv_usec) }
}

/// Strings as C has them: an array of pointers that ends with NULL.
private final class CStrings {
    let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int

    init(_ strings: [String]) {
        count = strings.count
        pointers = .allocate(capacity: count + 1)
        for (index, string) in strings.enumerated() {
            (pointers + index).initialize(to: strdup(string))
        }
        (pointers + count).initialize(to: nil)
    }

    deinit {
        for index in 0..<count { free(pointers[index]) }
        pointers.deallocate()
    }
}
