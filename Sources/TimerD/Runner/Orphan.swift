// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A run's process that may have outlived the daemon which started it.
struct Orphan: Sendable, Hashable {
    let pid: pid_t
    /// When it was started, as `ticks(of:)` said then: another process may have the number by now.
    let ticks: Int64

    /// When a process was started, in clock ticks since the machine was; nil where there is none.
    static func ticks(of pid: pid_t) -> Int64? {
        guard let status = status(of: pid), status.count > 19 else { return nil }
        // The twentieth word behind the name, proc(5).
        return Int64(status[19])
    }

    /// The processes that were started for `runs` by a daemon of that socket, by the environment they
    /// were given; looks at every process there is.
    ///
    /// For runs whose process was not recorded: the daemon died between its start and that.
    static func find(_ runs: Set<Int64>, socket: String) -> [Int64: Orphan] {
        guard !runs.isEmpty, let processes = opendir("/proc") else { return [:] }
        defer { closedir(processes) }
        var found: [Int64: Orphan] = [:]
        while let entry = readdir(processes) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { name in
                String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
            }
            // The run's own process leads its session; what it started is of its group.
            guard let pid = pid_t(name), getsid(pid) == pid, let run = run(of: pid, socket),
                runs.contains(run), let ticks = ticks(of: pid)
            else { continue }
            found[run] = Orphan(pid: pid, ticks: ticks)
        }
        return found
    }

    private static func run(of pid: pid_t, _ socket: String) -> Int64? {
        guard let bytes = contents(of: "/proc/\(pid)/environ", atMost: 1 << 20) else { return nil }
        let variables = bytes.split(separator: 0)
        guard variables.contains(where: { $0.elementsEqual("TIMERD_SOCKET=\(socket)".utf8) }) else {
            return nil
        }
        let name = "TIMERD_RUN_ID="
        let run = variables.first { $0.starts(with: name.utf8) }?.dropFirst(name.utf8.count)
        return run.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
    }

    private static func contents(of path: String, atMost limit: Int) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file != -1 else { return nil }
        defer { close(file) }
        var contents: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16_384)
        while contents.count < limit {
            let count = read(file, &part, part.count)
            guard count > 0 else { break }
            contents += part[..<count]
        }
        return contents
    }

    /// Whether it is still the process that was started, and has not ended.
    var lives: Bool {
        guard Self.ticks(of: pid) == ticks, let status = Self.status(of: pid) else { return false }
        return status[0] != "Z" && status[0] != "X"
    }

    /// Ends it and all of its process group; returns when they have ended, or will not.
    func end(by teardown: Teardown) async {
        let group = ProcessGroup(leader: pid)
        for step in teardown.signals where lives {
            group.send(step.signal)
            await waitForEnd(atMost: step.grace)
        }
        await group.endSurvivors(by: teardown)
    }

    /// Looks again and again, rarer each time: nothing tells of the end of another's child.
    private func waitForEnd(atMost limit: Duration) async {
        let deadline = ContinuousClock.now + limit
        var pause = Duration.milliseconds(1)
        while lives, ContinuousClock.now < deadline {
            // try?: cancellation shortens the pause alone.
            try? await Task.sleep(for: min(pause, deadline - ContinuousClock.now))
            pause = min(pause * 2, .milliseconds(50))
        }
    }

    /// The words of /proc/PID/stat behind the name, which may hold blanks and parentheses.
    private static func status(of pid: pid_t) -> [Substring]? {
        let bytes = contents(of: "/proc/\(pid)/stat", atMost: 1024) ?? []
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.lastIndex(of: ")") else { return nil }
        let words = text[text.index(after: end)...].split(separator: " ")
        return words.isEmpty ? nil : words
    }
}
