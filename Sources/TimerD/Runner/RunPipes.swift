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
