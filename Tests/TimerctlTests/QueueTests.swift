// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("timerctl queue", .timeLimit(.minutes(1))) struct QueueTests {
    private let pipe = Terminal(width: nil, hasColour: false)

    private func lines(_ table: Table) -> [String] {
        table.text(for: pipe).split(separator: "\n").map(String.init)
    }

    @Test("The table of queues tells what waits, since when, for whom, and the limits")
    func queues() {
        let queues = [
            TaskQueue(
                queue: "mails",
                owner: "ann",
                maxReserved: 5,
                maxRate: "10/s",
                ready: 3,
                delayed: 12,
                reserved: 1,
                dead: 2,
                oldest: testNow - .seconds(240),
                waiting: 4
            ),
            TaskQueue(queue: "re\u{1b}ports", owner: "ann", paused: true),
        ]
        #expect(
            lines(QueueList.table(of: queues, dates: testDates)) == [
                "QUEUE      READY  DELAYED  RESERVED  DEAD  OLDEST     WORKERS  LIMITS",
                "mails          3       12         1     2  4 min ago        4  5 at a time, 10/s",
                "re^[ports      0        0         0     0  -                0  paused",
            ]
        )
    }

    @Test("Whose a queue is has a column where it differs")
    func owners() {
        let queues = ["ann", "bob"].map { TaskQueue(queue: "mails", owner: $0) }
        let title = lines(QueueList.table(of: queues, dates: testDates)).first
        #expect(title?.hasPrefix("QUEUE  OWNER  READY") == true)
    }

    @Test("That a queue was made is said, with whose of its name may have been meant")
    func made() {
        let own = TaskQueue(queue: "mails", owner: "root")
        let made = "queue 'mails' was made: you had none of this name"
        #expect(own.madeSentence(among: [own, TaskQueue(queue: "b", owner: "ann")]) == made)
        let others = ["ann", "bob"].map { TaskQueue(queue: "mails", owner: $0) }
        let sentence = own.madeSentence(among: others + [own])
        #expect(sentence == made + "; --owner means that of 'ann' or 'bob'")
    }

    @Test("The table of tasks tells when each is ready, or its lease ends, and what it failed with")
    func tasks() {
        var dead = QueuedTask(
            fire: FireID(rawValue: 17),
            job: JobID(rawValue: 2),
            queue: "mails",
            fireDate: testNow,
            attempt: 6
        )
        (dead.state, dead.reason, dead.name) = (.dead, "exit status 3: no route", "welcome")
        var reserved = dead
        (reserved.state, reserved.reason, reserved.name) = (.reserved, nil, nil)
        reserved.leaseUntil = testNow + .seconds(30)
        #expect(
            lines(QueueTasks.table(of: [dead, reserved], dates: testDates)) == [
                "TASK  JOB  NAME     QUEUE  STATE     WHEN     PRIORITY  ATTEMPT  LAST ERROR",
                "  17    2  welcome  mails  dead      -               0        6  exit status 3: no route",
                "  17    2  -        mails  reserved  in 30 s         0        6  -",
            ]
        )
    }

    @Test("The command of a worker stands behind '--', whatever it looks like")
    func command() throws {
        let words = Timerctl.arguments([
            "timerctl", "--json", "queue", "work", "a", "b", "--once", "--", "sh", "-c", "--once",
            "",
        ])
        let work = try #require(try Timerctl.parseAsRoot(words) as? QueueWork)
        #expect(work.queues == ["a", "b"])
        #expect(work.once)
        #expect(work.command == ["sh", "-c", "--once", ""])
    }

    @Test("Wrong usage is refused with what to say")
    func usage() {
        expectUsageError(
            "say what to run for each task: 'timerctl queue work mails -- COMMAND'"
        ) { try QueueWork.parse(["mails"]) }
        expectUsageError("--concurrency is '0', accepted is 1 to 1000") {
            try QueueWork.parse(["mails", "--command=:true", "--concurrency", "0"])
        }
        expectUsageError("--lease is '1ms', accepted is 100ms to 7 days") {
            try QueueWork.parse(["mails", "--command=:true", "--lease", "1ms"])
        }
        expectUsageError("say which tasks: their numbers, or --queue with a queue") {
            try QueueRetry.parse([])
        }
        expectUsageError("--count goes with --queue") {
            try QueueRetry.parse(["1", "--count", "2"])
        }
        expectUsageError("--owner goes with --queue") {
            try QueueRetry.parse(["1", "--owner", "ann"])
        }
        expectUsageError("say which tasks of the queue: --state with ready, delayed or dead") {
            try QueueDrop.parse(["--queue", "mails"])
        }
        expectUsageError("say what the limit is: --reserved with a number, --rate, or both") {
            try QueueLimit.parse(["mails"])
        }
    }

    // MARK: - A worker's command

    private func task(_ change: (inout QueuedTask) -> Void = { _ in }) -> QueuedTask {
        var task = QueuedTask(
            fire: FireID(rawValue: 17),
            job: JobID(rawValue: 2),
            queue: "mails",
            fireDate: testNow,
            attempt: 3
        )
        change(&task)
        return task
    }

    @Test(
        "The exit status says what becomes of a task, and the last line of standard error why",
        arguments: [
            ("exit 0", .finished), ("exit 3", .failed("exit status 3")),
            ("echo a >&2; echo 'b ' >&2; echo >&2; exit 1", .failed("exit status 1: b")),
            ("printf 'no end' >&2; exit 1", .failed("exit status 1: no end")),
            ("exit 75", .released(delay: "5s", "exit status 75")),
            ("kill -9 $$", .failed("signal 9")),
            // What it leaves behind keeps standard error open, and is not waited for.
            ("sleep 60 & echo $! >&2; exec 2>&-; kill $!; exit 0", .finished),
            ("exec 2>&-; exit 4", .failed("exit status 4")),
        ] as [(String, TaskResult)]
    )
    func status(script: String, result: TaskResult) async {
        #expect(await TaskCommand(["sh", "-c", script]).run(task()) == result)
    }

    @Test(
        "A command has its task's userInfo on standard input, however long, and its facts around it"
    )
    func surroundings() async throws {
        let long = JSONText(.string(String(repeating: "x", count: 65_000)))
        let script = """
            test "$(wc -c)" = 65002 || exit 1
            test "$TIMERD_QUEUE $TIMERD_FIRE_ID $TIMERD_ATTEMPT $TIMERD_JOB_ID $TIMERD_JOB_NAME" = \
            "mails 17 3 2 welcome" || exit 2
            test "$TIMERD_FIRE_DATE" = "2026-12-01T08:00:00.000000Z" || { echo $TIMERD_FIRE_DATE >&2; exit 3; }
            """
        let task = task {
            $0.userInfo = long
            $0.name = "welcome"
        }
        #expect(await TaskCommand(["sh", "-c", script]).run(task) == .finished)
        // And where nobody reads it, of which a pipe takes 64 KiB at first. Cannot fail once SwiftNIO has made a socket in this
        // process, as an earlier test may have it do: then SIGPIPE is ignored in any case.
        let unread = self.task {
            $0.userInfo = JSONText(.string(String(repeating: "x", count: 100_000)))
        }
        #expect(await TaskCommand(["true"]).run(unread) == .finished)
    }

    @Test("A command has descriptors 0, 1 and 2, and none that was left open for it")
    func descriptors() async {
        // As SwiftNIO leaves its own.
        let left = open("/dev/null", O_RDONLY)
        defer { close(left) }
        #expect(fcntl(left, F_GETFD) == 0)
        // ls(1) has the folder open beside them.
        let command = TaskCommand(["sh", "-c", "ls -m /proc/self/fd >&2; exit 1"])
        #expect(await command.run(task()) == .failed("exit status 1: 0, 1, 2, 3"))
    }

    @Test("A command has the worker's environment as it is, also what is no text")
    func environment() async {
        setenv("QUEUE_TESTS_BYTES", "\u{e9}", 1)
        defer { unsetenv("QUEUE_TESTS_BYTES") }
        // Half of the two bytes of that letter.
        getenv("QUEUE_TESTS_BYTES")[1] = 0
        let script = "printf %s \"$QUEUE_TESTS_BYTES\" | od -An -tx1 >&2; exit 1"
        let result = await TaskCommand(["sh", "-c", script]).run(task())
        #expect(result == .failed("exit status 1:  c3"))
    }

    @Test("A command that is not there gives its task back, and tells why")
    func notThere() async {
        let (reasons, told) = AsyncStream<String>.makeStream()
        let result = await TaskCommand(["/no/such/command"]) { told.yield($0) }.run(task())
        told.finish()
        let reason = "the command cannot be started: no such file or directory"
        #expect(result == .released(delay: "5s", reason))
        var all: [String] = []
        for await reason in reasons { all.append(reason) }
        #expect(all == [reason])
    }

    @Test("A command that is ended gives its task back")
    func ended() async throws {
        let folder = FileManager.default.temporaryDirectory
        let fifo = folder.appending(path: "timerctl-queue-\(UUID().uuidString)").path
        #expect(mkfifo(fifo, 0o600) == 0)
        defer { unlink(fifo) }
        let task = task()
        let run = Task {
            await TaskCommand(["sh", "-c", "echo begun > \(fifo); exec sleep 600"]).run(task)
        }
        // Comes once the command has begun.
        let begun = await Task.detached { () -> Data? in
            guard let file = FileHandle(forReadingAtPath: fifo) else { return nil }
            return try? file.readToEnd()
        }.value
        #expect(begun == Data("begun\n".utf8))
        run.cancel()
        #expect(await run.value == .released(delay: nil, "stopped"))
    }
}
