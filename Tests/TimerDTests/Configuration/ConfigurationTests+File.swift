// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What becomes of a file that cannot be read, or is not believed.
extension ConfigurationTests {
    @Test("The file that is named is read, and none is when there is none")
    func files() async throws {
        let other = folder.file("other.json")
        try #"{"maxRuns": 7}"#.write(toFile: other, atomically: false, encoding: .utf8)
        #expect(try await read(file: other).maxRuns == 7)
        #expect(try await read([:], ["TIMERD_CONFIG": other]).maxRuns == 7)
        #expect(try await read(file: other).maxRuns == 7)
        let missing = folder.file("missing.json")
        let reason = "the configuration file '\(missing)' cannot be read: no such file or directory"
        #expect(await refusal(file: missing) == reason)
        #expect(await refusal([:], ["TIMERD_CONFIG": missing]) == reason)
        #expect(await refusal(file: folder.path)?.hasSuffix("' is a directory") == true)
        #expect(await refusal(file: "/dev/null")?.hasSuffix("is no file") == true)
    }

    @Test("A file that the disk does not give is refused in words of ours")
    func unread() async {
        let file = "/proc/self/mem"  // It opens, but nothing is mapped at its first byte.
        let words = "'\(file)' cannot be read: input/output error"
        #expect(await refusal(file: file) == "the configuration file \(words)")
    }

    @Test("A file for which there is no descriptor is refused in words of ours")
    func withoutDescriptors() async {
        await #expect(processExitsWith: .success) {
            let test = try ConfigurationTests()
            try test.write("{}")
            // Whatever else a first read opens is open then.
            _ = try await test.read()
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let before = limit.rlim_cur
            limit.rlim_cur = 0
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let refusal = await test.refusal(file: test.path)
            limit.rlim_cur = before
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let words = "cannot be read: too many open files"
            #expect(refusal == "the configuration file '\(test.path)' \(words)")
        }
    }

    @Test("A file that others can write to is not believed")
    func othersFile() async throws {
        try write("{}")
        #expect(chmod(path, 0o666) == 0)
        #expect(await refusal()?.contains("everybody can write to") == true)
    }
}
