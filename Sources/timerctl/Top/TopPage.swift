// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// One job as `show` tells of it, and the end of what one of its runs wrote.
struct TopPage {
    var job: JobID
    var name: String?
    /// The run that the page was opened for; nil for the newest.
    var run: RunID?
    private(set) var content: Content?
    /// The job's state, and its next date, as they stood on the last picture.
    private(set) var state: Job.State?
    private(set) var fireDate: Timestamp?
    /// Whether what the run writes comes as it writes it.
    var isFollowing = false
    private(set) var firstLine = 0
    /// How many lines there were at the last picture.
    private var count = 0
    private var output = Output()

    /// What the daemon answered.
    struct Content {
        var job: Job
        var rows: JobRows
        /// For a job with a command.
        var status: StatusReply?
        /// Of the page's run; nil where it has none.
        var output: OutputReply?
    }

    /// The end of what it wrote to both streams, in the order in which that came.
    private struct Output {
        var run: RunID?
        var reader = OutputReader()
        var bytes: [UInt8] = []
        var isRunning = false
    }

    /// How much of a run's output is shown at most.
    static let mostBytes = 65_536

    init(of row: TopRow) {
        (job, name, run) = (row.job, row.name, row.run)
        (state, fireDate) = (row.state, row.fireDate)
    }

    var title: String { TopRow.title(job, name) }
    /// The run whose output is shown.
    var shownRun: RunID? { output.run ?? run }
    /// Up to where its output is here.
    var position: OutputPosition { output.reader.position }

    /// The run that is shown, if it is in progress.
    var runningRun: RunID? {
        let running = content?.rows.shown.filter { $0.state == .running && $0.id != nil } ?? []
        return running.first { $0.id == shownRun }?.id
    }

    // MARK: - Answers

    mutating func take(_ new: Content) -> [TopModel.Request] {
        guard new.job.id == job else { return [] }
        content = new
        name = new.job.definition.name
        guard let reply = new.output else { return [] }
        // What is followed comes by itself.
        if isFollowing, output.run == reply.run { return [] }
        output = Output(run: reply.run)
        take(reply)
        return isFollowing ? [.follow(reply.run, position)] : []
    }

    mutating func take(_ reply: OutputReply) {
        guard output.run == reply.run else { return }
        for item in output.reader.read(reply) {
            switch item {
            case .chunk(let chunk): output.bytes += chunk.bytes
            // What comes before the first that is shown is not missed.
            case .gap where output.bytes.isEmpty: break
            case .gap(_, let count):
                output.bytes += Array("\n[\(OutputLines.words(count)) left out]\n".utf8)
            }
        }
        output.bytes = Array(output.bytes.suffix(Self.mostBytes))
        output.isRunning = reply.running
        if !reply.running { isFollowing = false }
    }

    /// What is asked for after the daemon was away.
    func reopened() -> [TopModel.Request] {
        let follow = isFollowing ? shownRun.map { TopModel.Request.follow($0, position) } : nil
        return [.open(job, run)] + [follow].compactMap(\.self)
    }

    // MARK: - Lines

    mutating func scroll(by lines: Int, room: Int) {
        firstLine = min(max(0, firstLine + min(lines, count)), max(0, count - room))
    }

    /// The lines in a window of `room`.
    mutating func window(_ dates: LocalDate, width: Int, room: Int) -> [String] {
        if let job = content?.job { (state, fireDate) = (job.state, job.fireDate) }
        let lines = lines(dates, width: width)
        let wasAtEnd = isFollowing
        count = lines.count
        let last = max(0, count - room)
        firstLine = wasAtEnd ? last : min(firstLine, last)
        return Array(lines[firstLine..<min(count, firstLine + room)])
    }

    private func lines(_ dates: LocalDate, width: Int) -> [String] {
        guard let content else { return ["", "asking for \(title) ..."] }
        let shown = JobPage(
            job: content.job,
            runs: content.rows.shown,
            dates: dates,
            status: content.status,
            dropped: content.rows.dropped,
            more: content.rows.more,
            isCut: content.rows.isCut
        )
        let text = shown.text(for: .plain).split(separator: "\n", omittingEmptySubsequences: false)
        var lines = text.flatMap { Printable.wrapped(String($0), to: width, indent: 4) }
        guard let run = output.run else { return lines }
        let end = Self.lines(of: output.bytes)
        lines.append("output of run \(run)" + (output.isRunning ? ", in progress" : ""))
        lines += (end.isEmpty ? ["(none)"] : end).flatMap {
            Printable.wrapped("  " + $0, to: width, indent: 2)
        }
        return lines + [""]
    }

    /// Lines that are harmless for a terminal.
    private static func lines(of bytes: [UInt8]) -> [String] {
        var lines = bytes.split(separator: 0x0a, omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { line in
            let line = line.last == 0x0d ? line.dropLast() : line
            let text = String(decoding: line, as: UTF8.self).replacing("\t", with: "    ")
            return Printable.escaped(text)
        }
    }
}
