// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import LinuxSystem

@Suite("Thread limit") struct ThreadLimitTests {
    @Test("The threads that a start tries have gone before those that follow are started")
    func trial() async {
        // In a process of its own, where nobody else tries any.
        await #expect(processExitsWith: .success) {
            for _ in 0..<50 {
                try ThreadLimit.require(8)
                let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
                for thread in threads {
                    // try?: any other thread may end meanwhile.
                    let name = try? String(
                        contentsOfFile: "/proc/self/task/\(thread)/comm",
                        encoding: .utf8
                    )
                    #expect(name != "timerd-start\n")
                }
            }
        }
    }
}
