// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemPackage

/// The three pipes of a run: which end is whose, and who closes what.
struct RunPipes {
    /// The command's ends.
    let stdin: FileDescriptor
    let stdout: FileDescriptor
    let stderr: FileDescriptor
    /// The daemon's ends, which do not block.
    let input: FileDescriptor
    let output: FileDescriptor
    let error: FileDescriptor
}

extension RunPipes {
    /// Opens six descriptors, or none and throws.
    init() throws(Errno) {
        var made: [FileDescriptor] = []
        do throws(Errno) {
            for _ in 0..<3 {
                let (read, write) = try FileDescriptor.closeOnExecPipe()
                made += [read, write]
            }
            for own in [made[1], made[2], made[4]] { try own.stopBlocking() }
        } catch {
            for descriptor in made { descriptor.closeForGood() }
            throw error
        }
        (stdin, input) = (made[0], made[1])
        (output, stdout) = (made[2], made[3])
        (error, stderr) = (made[4], made[5])
    }

    /// To be called once the command has its ends, or will never start.
    func closeCommandEnds() {
        for descriptor in [stdin, stdout, stderr] { descriptor.closeForGood() }
    }

    /// To be called if there is no run to read from.
    func closeOwnEnds() {
        for descriptor in [input, output, error] { descriptor.closeForGood() }
    }
}

extension FileDescriptor {
    /// Both ends of a new pipe, which no executed program inherits.
    static func closeOnExecPipe() throws(Errno) -> (read: Self, write: Self) {
        var ends: [CInt] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw Errno(rawValue: errno) }
        for end in ends where fcntl(end, F_SETFD, FD_CLOEXEC) == -1 {
            let cause = Errno(rawValue: errno)
            for end in ends { Self(rawValue: end).closeForGood() }
            throw cause
        }
        return (Self(rawValue: ends[0]), Self(rawValue: ends[1]))
    }

    /// Makes reads and writes answer EAGAIN instead of waiting.
    func stopBlocking() throws(Errno) {
        let flags = fcntl(rawValue, F_GETFL)
        guard flags != -1, fcntl(rawValue, F_SETFL, flags | O_NONBLOCK) != -1 else {
            throw Errno(rawValue: errno)
        }
    }

    /// Closes; Linux frees the descriptor whatever close(2) answers.
    func closeForGood() {
        Glibc.close(rawValue)
    }
}
