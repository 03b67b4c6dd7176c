// SPDX-License-Identifier: Apache-2.0

import CLimits
import Foundation
import TimerControl

/// A running `timerd`, and what the kernel says of it.
struct DaemonProcess: Sendable {
    let pid: pid_t
    /// The `timerd-runner` that minds its runs, and ends behind it.
    let runner: pid_t
    let socket: String
    /// From before its exec to its first answer to `daemon.status`.
    let startTime: Duration

    /// Starts the daemon on a database of the bench, and returns once it answers.
    ///
    /// `settings`: variables of its environment.
    ///
    /// - Throws: with the daemon's own words, where it ended instead.
    static func start(
        on bench: Bench,
        database: String,
        settings: [String: String] = [:]
    ) async throws -> DaemonProcess {
        let socket = bench.folder.file(database + ".sock")
        let log = bench.folder.file(database + ".log")
        let start = ContinuousClock.now
        let pid = try ChildProgram.start(
            [
                bench.timerd, "--database", bench.folder.file(database), "--socket", socket,
                "--log-level", "notice",
            ],
            settings: settings,
            log: log
        )
        let runner: pid_t
        do {
            runner = try await firstAnswer(of: pid, at: socket, log: log)
        } catch {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
            throw error
        }
        let time = ContinuousClock.now - start
        return DaemonProcess(pid: pid, runner: runner, socket: socket, startTime: time)
    }

    /// Runs `body` with a daemon, which is stopped afterwards whatever happens.
    static func with<T>(
        _ bench: Bench,
        database: String,
        settings: [String: String] = [:],
        _ body: (DaemonProcess) async throws -> T
    ) async throws -> T {
        let daemon = try await start(on: bench, database: database, settings: settings)
        do {
            let value = try await body(daemon)
            try daemon.stop()
            return value
        } catch {
            // try?: the first error is the one to tell.
            try? daemon.stop()
            throw error
        }
    }

    /// A connection of its own.
    func connect() async throws -> ControlClient { try await ControlClient.connect(to: socket) }

    /// A connection of the user who owns jobs of a shape: for full ones somebody who is not root.
    ///
    /// As this process's own user, where that is not root.
    func connect(for shape: JobShape) async throws -> ControlClient {
        guard shape == .full, geteuid() == 0 else { return try await connect() }
        // The kernel notes for the daemon who connects, and glibc has all threads be that one.
        guard seteuid(65_534) == 0 else { throw BenchmarkError("cannot connect as nobody") }
        defer { seteuid(0) }
        return try await connect()
    }

    /// Ends the daemon by SIGTERM, and waits for it.
    ///
    /// - Throws: where it did not exit with 0 within 20 s; then it has been killed.
    func stop() throws {
        kill(pid, SIGTERM)
        let end = ContinuousClock.now + .seconds(20)
        var status: Int32 = 0
        while waitpid(pid, &status, WNOHANG) == 0 {
            guard ContinuousClock.now < end else {
                kill(pid, SIGKILL)
                waitpid(pid, nil, 0)
                throw BenchmarkError("timerd (pid \(pid)) did not end within 20 s of SIGTERM")
            }
            usleep(2000)
        }
        guard status == 0 else {
            throw BenchmarkError("timerd (pid \(pid)) ended with wait status \(status), not 0")
        }
    }

    // MARK: - What the kernel says

    /// Resident memory in MB: all of it, and its share of what others map too.
    var memory: (resident: Double, proportional: Double) {
        let resident = ProcFile.number("VmRSS", in: "/proc/\(pid)/status") ?? 0
        let share = ProcFile.number("Pss", in: "/proc/\(pid)/smaps_rollup") ?? 0
        return (Double(resident) / 1024, Double(share) / 1024)
    }

    /// The processor time of all its threads and of its runner so far, in seconds; whatever else the machine
    /// does changes it little.
    var processorTime: Double { Self.processorTime(of: pid) + Self.processorTime(of: runner) }

    private static func processorTime(of pid: pid_t) -> Double {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            return .nan
        }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// How often each thread has gone to sleep by itself, which is how often it was woken.
    private var sleeps: [String: (name: String, count: Int)] {
        let folder = "/proc/\(pid)/task/"
        // try?: a process that has ended has no threads.
        let threads = try? FileManager.default.contentsOfDirectory(atPath: folder)
        let counts = (threads ?? []).map { thread in
            let file = folder + thread
            let name = ProcFile.lines(file + "/comm").first.map { String($0) } ?? "?"
            let count = ProcFile.number("voluntary_ctxt_switches", in: file + "/status") ?? 0
            return (thread, (name: name, count: count))
        }
        return Dictionary(uniqueKeysWithValues: counts)
    }

    /// The wake-ups during `duration`, by the name of the thread; those that slept are left out.
    func wakeUps(during duration: Duration) async throws -> [String: Int] {
        let before = sleeps
        try await Task.sleep(for: duration)
        var wakeUps: [String: Int] = [:]
        for (thread, now) in sleeps {
            let more = now.count - (before[thread]?.count ?? 0)
            if more > 0 { wakeUps[now.name, default: 0] += more }
        }
        return wakeUps
    }

    // MARK: - Starting

    /// Waits for it; returns the runner.
    private static func firstAnswer(
        of pid: pid_t,
        at socket: String,
        log: String
    ) async throws -> pid_t {
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            do {
                let client = try await ControlClient.connect(to: socket)
                let runner = try await client.status().runner?.pid
                await client.close()
                guard let runner else { throw BenchmarkError("timerd has no runner") }
                return runner
            } catch let error as ClientError where error.reason == .noDaemon {
                guard waitpid(pid, nil, WNOHANG) == 0 else {
                    throw BenchmarkError(
                        "timerd ended before it answered: "
                            + ProcFile.lines(log).suffix(5).joined(separator: "; ")
                    )
                }
                // Shorter than what is measured, longer than what would slow it down.
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        throw BenchmarkError("timerd did not answer within 60 s")
    }
}
