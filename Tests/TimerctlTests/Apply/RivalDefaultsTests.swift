// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import timerctl

@Suite("Defaults of a file that a job cannot have beside what it says") struct RivalDefaultsTests {
    @Test("A job that says a command or a queue has not the other of the two by default")
    func rivals() {
        let queues = jobFile(
            "defaults: {queue: q, priority: 3}\njobs: {a: {every: 5s, command: [x]}, b: {every: 5s}}"
        )
        #expect(queues.mistakes == [])
        let (run, task) = (queues.jobs.first?.definition, queues.jobs.last?.definition)
        #expect(run?.command == ["x"] && run?.queue == nil && run?.priority == nil)
        #expect(task?.command == nil && task?.queue == "q" && task?.priority == 3)
        let commands = jobFile(
            "defaults: {command: [x], timeout: 5s}\njobs: {a: {every: 5s, queue: q}, b: {every: 5s}}"
        )
        #expect(commands.mistakes == [])
        let (other, usual) = (commands.jobs.first?.definition, commands.jobs.last?.definition)
        #expect(other?.command == nil && other?.queue == "q" && other?.timeout == nil)
        #expect(usual?.command == ["x"] && usual?.timeout != nil)
    }
}
