// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Queues, from the shell and over restarts", .timeLimit(.minutes(2)))
struct QueueLifeTests {
    @Test("A client is told whether the queue that it sets was made with that")
    func made() async throws {
        try await DaemonProcess.with { daemon in
            let client = try await ControlClient.connect(to: daemon.socket)
            var pause = SetQueue(queue: "mails")
            pause.paused = true
            let first = try await client.setQueue(pause)
            #expect(first.made == true && first.queue.paused)
            let second = try await client.setQueue(pause)
            #expect(second.made == nil && second.queue.paused)
            await client.close()
        }
    }

    @Test(
        "timerctl adds a task, works on it with its userInfo on stdin, and shows what became of it"
    )
    func shell() async throws {
        try await DaemonProcess.with { daemon in
            let add = [
                "add", "--in", "1ms", "--queue", "mails", "--key", "order-7", "--name", "welcome",
                "--user-info", #"{"to":"ann"}"#,
            ]
            let first = try await daemon.timerctl(add)
            #expect(first.status == 0, "\(first.errors)")
            let again = try await daemon.timerctl(add)
            #expect(again.output == first.output)
            #expect(again.errors.contains("has this --key already; nothing was added"))
            let client = try await ControlClient.connect(to: daemon.socket)
            var wait = ReserveTasks(queues: ["mails"])
            wait.wait = "1min"
            let task = try #require(try await client.reserveTasks(wait).first)
            let reference = try #require(task.reference)
            _ = try await client.releaseTask(reference)
            let worked = try await daemon.timerctl(
                "queue",
                "work",
                "mails",
                "--once",
                "--",
                "/bin/sh",
                "-c",
                "cat; echo; echo $TIMERD_ATTEMPT"
            )
            #expect(worked.status == 0, "\(worked.errors)")
            #expect(worked.output.contains(#"{"to":"ann"}"#) && worked.output.contains("\n2\n"))
            let runs = try await daemon.timerctl("runs", "welcome")
            #expect(runs.output.contains("finished by its worker"), "\(runs.output)")
            #expect(runs.output.contains("given back by its worker"))
            let list = try await daemon.timerctl("queue", "list")
            #expect(list.output.contains("mails"))
            let refused = try await daemon.timerctl(
                "add",
                "--in",
                "1h",
                "--queue",
                "q",
                "--",
                "true"
            )
            #expect(refused.status == 64)
            #expect(refused.errors.contains("--queue and a command"))
            await client.close()
        }
    }

    @Test(
        "A task whose worker was gone before the answer is ready again, and that was no attempt",
        arguments: ["", #","wait":"5s""#, #","whileConnected":true"#, #","count":20"#]
    )
    func unheard(parameters: String) async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "0s", "--queue", "mails")
            let client = try await ControlClient.connect(to: daemon.socket)
            let worker = try RawPeer(daemon.socket)
            try await eventually("the task is there") { [socket = daemon.socket] in
                try RawPeer(socket).ask(#"{"jsonrpc":"2.0","id":1,"method":"task.list"}"#)
                    .contains(#""attempt":0"#)
            }
            // A daemon that stands still cannot answer before the worker is gone.
            defer { kill(daemon.pid, SIGCONT) }
            try await daemon.standStill()
            try worker.send(
                #"{"jsonrpc":"2.0","id":2,"method":"task.reserve","#
                    + #""params":{"queues":["mails"],"lease":"1h"\#(parameters)}}"# + "\n"
            )
            worker.close()
            kill(daemon.pid, SIGCONT)
            var order = ReserveTasks(queues: ["mails"])
            order.wait = "1min"
            let task = try #require(try await client.reserveTasks(order).first)
            #expect(task.attempt == 1)
            await client.close()
        }
    }

    @Test("A worker whose standard error nobody reads any more does its tasks to their end")
    func unreadErrors() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "0s", "--queue", "mails", "--name", "welcome")
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            // A pipe whose reader has gone.
            let worked = try await shell(
                "mkfifo p && exec 3<>p 4>p 3<&- && timerctl queue work mails --once -- "
                    + "sh -c 'echo lost >&2; echo done >done' 2>&4"
            )
            #expect(worked.isDone, "\(worked.errors)")
            let done = try String(contentsOfFile: daemon.folder + "/done", encoding: .utf8)
            #expect(done == "done\n")
            let runs = try await daemon.timerctl("runs", "welcome")
            #expect(runs.output.contains("finished by its worker"), "\(runs.output)")
        }
    }

    @Test("A task ends with its command, also where that leaves a process which writes on for ever")
    func leftBehind() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "0s", "--queue", "mails", "--name", "welcome")
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            let worked = try await shell(
                "timeout -s KILL 60 timerctl queue work mails --once -- "
                    + "sh -c 'yes >&2 & echo $! >pid' 2>/dev/null"
            )
            // Its pipe has no reader any more, which ends it as well.
            _ = try await shell("kill $(cat pid) 2>/dev/null")
            #expect(worked.isDone, "\(worked)")
            let runs = try await daemon.timerctl("runs", "welcome")
            #expect(runs.output.contains("finished by its worker"), "\(runs.output)")
        }
    }

    @Test(
        "A worker's command has neither its connection nor another descriptor of it, whatever the worker began without",
        arguments: ["", "<&-", ">&-", "<&- >&- 2>&-", "9</dev/null"]
    )
    func descriptors(closed: String) async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "0s", "--queue", "mails")
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            let worked = try await shell(
                "timerctl queue work mails --once -- sh -c 'ls -l /proc/$$/fd >fds; true' \(closed)"
            )
            #expect(worked.isDone, "\(worked.errors)")
            let fds = try String(contentsOfFile: daemon.folder + "/fds", encoding: .utf8)
            #expect(fds.contains(" 2 -> pipe:") && !fds.contains(" 3 -> "), "\(fds)")
            #expect(!fds.contains("socket:") && !fds.contains("eventpoll"), "\(fds)")
            let client = try await ControlClient.connect(to: daemon.socket)
            #expect(try await client.listTasks().tasks.isEmpty)
            await client.close()
        }
    }

    @Test("A worker whose command is misspelt uses up no attempt of a task, and ends with an error")
    func misspelt() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "0s", "--queue", "mails", "--retries", "0")
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            let worked = try await shell("timerctl queue work mails -- ./mispelt")
            #expect(worked.status == 1, "\(worked.errors)")
            #expect(worked.errors.contains("the command cannot be started: no such file"))
            // With one attempt a failed task would be dead.
            let client = try await ControlClient.connect(to: daemon.socket)
            let tasks = try await client.listTasks().tasks
            #expect(tasks.count == 1 && tasks.first?.state != .dead, "\(tasks)")
            await client.close()
        }
    }

    @Test(
        "A worker tells of failures also where its SIGCHLD was ignored",
        .enabled(if: Shell.has("python3"), "there is no python3")
    )
    func ignoredSignal() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "0s", "--queue", "mails", "--retries", "0")
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            let ignoring = """
                import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)
                os.execvp("timerctl", "timerctl queue work mails --once -- false".split())
                """
            let worked = try await shell("python3 -c '\(ignoring)'")
            #expect(worked.isDone && worked.errors.contains("exit status 1"), "\(worked.errors)")
        }
    }

    @Test("A second signal ends a worker whose daemon hangs, however long its lease")
    func secondSignal() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "0s", "--queue", "mails")
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            // One signal alone would let it try until the lease is over.
            let ended = try await shell(
                """
                timerctl queue work mails --lease 1h -- sh -c 'kill -STOP \(daemon.pid); touch begun' 2>said &
                until [ -e begun ]; do sleep 0.02; done
                kill $!
                until grep -q 'a second SIGTERM or SIGINT ends it' said; do sleep 0.02; done
                kill $!
                wait $!
                """
            )
            kill(daemon.pid, SIGCONT)
            #expect(ended.isDone, "\(ended.errors)")
        }
    }

    @Test("A worker whose terminal goes lets its command end, and at SIGQUIT ends it")
    func terminalSignals() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "0s", "--queue", "mails")
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            let work = "timerctl queue work mails --once -- sh -c"
            // Not --once: it is the signal that ends the worker.
            let hungUp = try await shell(
                "timerctl queue work mails -- sh -c 'kill -HUP $PPID; kill -HUP $PPID; touch done' && [ -e done ]"
            )
            #expect(hungUp.isDone, "\(hungUp.errors)")
            let client = try await ControlClient.connect(to: daemon.socket)
            #expect(try await client.listTasks().tasks.isEmpty)
            try await daemon.timerctl("add", "--in", "0s", "--queue", "mails")
            let quit = try await shell("\(work) 'echo $$ >pid; kill -QUIT $PPID; exec sleep 60'")
            #expect(quit.isDone, "\(quit.errors)")
            // Its task goes back as it tells so, or as its connection is over.
            var order = ReserveTasks(queues: ["mails"])
            order.wait = "1min"
            var tasks: [QueuedTask] = []
            while tasks.isEmpty { tasks = try await client.reserveTasks(order) }
            #expect(tasks.count == 1)
            let gone = try await shell("! kill -0 $(cat pid)")
            #expect(gone.isDone)
            await client.close()
        }
    }

    @Test(
        "What would end a worker alone ends its command with it",
        arguments: [SIGUSR1, SIGALRM, SIGXCPU, 40]
    )
    func otherSignals(signal: Int32) async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "0s", "--queue", "mails")
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            let work = "timerctl queue work mails -- sh -c"
            let ended = try await shell(
                """
                \(work) 'echo $$ >pid; kill -\(signal) $PPID; exec sleep 600' || exit
                while kill -0 $(cat pid); do sleep 0.02; done
                """
            )
            #expect(ended.isDone, "\(ended.errors)")
        }
    }

    @Test(
        "A file that is as large as it may be ends no worker, and its command has the signal as usual"
    )
    func fileSize() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "0s", "--queue", "mails")
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            let ended = try await shell(
                """
                timerctl queue work --once mails -- sh -c 'kill -XFSZ $PPID
                sh -c "kill -XFSZ \\$\\$; touch ignored"; touch done' &&
                [ -e done ] && ! [ -e ignored ]
                """
            )
            #expect(ended.isDone, "\(ended.errors)")
        }
    }

    @Test("A worker that was started with SIGQUIT ignored, as one in the background, ignores it")
    func ignoredQuit() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "0s", "--queue", "mails")
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: daemon.folder)
            // Taken for the first signal it would be the end of the command, and nothing be said.
            let ended = try await shell(
                """
                trap '' QUIT
                timerctl queue work mails -- sh -c 'kill -QUIT $PPID; kill $PPID
                until grep -q "second SIGTERM" said; do sleep 0.02; done; touch done' 2>said
                [ -e done ]
                """
            )
            #expect(ended.isDone, "\(ended.errors)")
        }
    }

    @Test(
        "A task that is tied to a connection stays with its worker over a stop and a kill of the daemon",
        arguments: [SIGTERM, SIGKILL]
    )
    func restart(signal: Int32) async throws {
        try await DaemonProcess.with { daemon in
            let client = try await ControlClient.connect(to: daemon.socket)
            for _ in 0..<20 {
                var definition = JobDefinition(schedule: ScheduleWords(in: "1ms"))
                definition.queue = "mails"
                _ = try await client.addJob(definition)
            }
            var order = ReserveTasks(queues: ["mails"])
            (order.count, order.wait, order.whileConnected) = (20, "1min", true)
            var tasks: [QueuedTask] = []
            while tasks.count < 20 { tasks += try await client.reserveTasks(order) }
            await daemon.end(signal)
            try await daemon.start()
            let next = try await ControlClient.connect(to: daemon.socket)
            let queue = try #require(try await next.listQueues().first)
            #expect((queue.reserved, queue.ready) == (20, 0))
            for task in tasks {
                let told = try await next.finishTask(try #require(task.reference))
                #expect(told.state == .done)
            }
            #expect(try await next.listTasks().tasks.isEmpty)
            await next.close()
            await client.close()
        }
    }
}
