// SPDX-License-Identifier: Apache-2.0

import CSpawn
import JobModel

/// What the runner says to the daemon: docs/runner-protocol.md.
enum RunnerReport: Sendable {
    case welcome(Welcome)
    case known(run: Int64, KnownRun)
    case synced
    case refused(run: Int64, errno: Int32)
    case started(run: Int64, KnownRun)
    /// Bytes of a stream from `position` on, that came at `date`, in µs since 1970.
    case output(
        run: Int64,
        stream: StandardStream,
        date: Int64,
        position: Int64,
        bytes: ArraySlice<UInt8>
    )
    case signalled(run: Int64, answer: SignalAnswer)
    case outlasted(run: Int64, pids: [Int32])
    case ended(run: Int64, End)
    /// Follows `welcome`.
    case groups(ControlGroups)
    /// Answers `ping`.
    case pong
    /// Of the agent of a node, in answer to an offer: it could begin that now.
    case ready(run: Int64)
    /// It does not begin what it was offered.
    case declined(run: Int64, Refusal, reason: String)
    /// Precedes the end of a run that could not begin: why, in words.
    case words(run: Int64, String)
    /// Of an agent, first of all: how many commands run at once on its node.
    case room(Int)

    /// Who the runner is.
    struct Welcome: Hashable, Sendable {
        /// The version of the protocol that it speaks, and all before it.
        var version: UInt32
        /// Another one for each runner.
        var epoch: Int64
        var pid: Int32
        /// How many runs it minds at most, and bytes of them.
        var runs: UInt32
        var bytes: UInt64
        /// The release of timerd that it is part of.
        var release: String
    }

    /// Why an agent does not begin a run.
    enum Refusal: UInt8, Sendable {
        /// It could not begin on any host, or not soon.
        case forGood
        /// It may begin later.
        case forNow
        /// The node does not know the user.
        case stranger
    }

    /// How a run ended.
    struct End: Sendable {
        enum Outcome: UInt8, Sendable {
            case exited, signalled, timedOut, notStarted, interrupted
        }

        var outcome: Outcome
        /// The exit status, or the signal; of what was interrupted, either.
        var code: Int32
        var startedAtMicroseconds: Int64
        var endedAtMicroseconds: Int64
        var usage: RunUsage
        /// How many bytes came of each stream.
        var stdout: Int64
        var stderr: Int64
        var survivors: [Int32]
        /// Why it never became the command.
        var failure: cspawn_report?
        /// Whether the kernel ended one of its processes for lack of memory.
        var lackedMemory = false
    }

    /// Reads a frame without its length; nil for one that cannot be understood.
    init?(_ frame: ArraySlice<UInt8>) {
        var reader = FrameReader(rest: frame)
        guard let kind = reader.take(UInt8.self), let report = reader.report(kind),
            reader.rest.isEmpty
        else { return nil }
        self = report
    }
}

/// What is left of a frame.
struct FrameReader {
    var rest: ArraySlice<UInt8>

    mutating func take<Value: FixedWidthInteger>(_: Value.Type = Value.self) -> Value? {
        let size = MemoryLayout<Value>.size
        guard rest.count >= size else { return nil }
        let bytes = rest.prefix(size)
        rest = rest.dropFirst(size)
        return bytes.reversed().reduce(0) { $0 << 8 | Value(truncatingIfNeeded: $1) }
    }

    mutating func takeBytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func takeBytes() -> ArraySlice<UInt8>? {
        take(UInt32.self).flatMap { takeBytes(Int($0)) }
    }

    mutating func takePids() -> [Int32]? {
        guard let count = take(UInt32.self), rest.count / 4 >= count else { return nil }
        return (0..<count).compactMap { _ in take(Int32.self) }
    }

    mutating func takeText() -> String? { takeBytes().map { String(decoding: $0, as: UTF8.self) } }

    private mutating func declined(_ run: Int64) -> RunnerReport? {
        guard let refusal = take().flatMap(RunnerReport.Refusal.init), let reason = takeText()
        else { return nil }
        return .declined(run: run, refusal, reason: reason)
    }

    mutating func report(_ kind: UInt8) -> RunnerReport? {
        switch kind {
        case 129: return welcome()
        case 131: return .synced
        case 138: return groups().map { .groups($0) }
        case 139: return .pong
        case 195: return take(UInt32.self).map { .room(Int($0)) }
        case 130, 132...137, 192...194: break
        default: return nil
        }
        guard let run = take(Int64.self) else { return nil }
        switch kind {
        case 130: return known(run)
        case 132: return take().map { .refused(run: run, errno: $0) }
        case 133: return started(run)
        case 134: return output(run)
        case 135: return answer().map { .signalled(run: run, answer: $0) }
        case 136: return takePids().map { .outlasted(run: run, pids: $0) }
        case 192: return .ready(run: run)
        case 193: return declined(run)
        case 194: return takeText().map { .words(run: run, $0) }
        default: return end().map { .ended(run: run, $0) }
        }
    }

    private mutating func welcome() -> RunnerReport? {
        guard let version = take(UInt32.self), version > 0,
            let epoch = take(Int64.self), let pid = take(Int32.self),
            let runs = take(UInt32.self), let bytes = take(UInt64.self),
            let release = takeBytes(), release.last == 0
        else { return nil }
        // A newer one may say more of itself.
        if version > RunnerProtocol.current.version { rest = [] }
        let welcome = RunnerReport.Welcome(
            version: version,
            epoch: epoch,
            pid: pid,
            runs: runs,
            bytes: bytes,
            release: String(decoding: release.dropLast(), as: UTF8.self)
        )
        return .welcome(welcome)
    }

    private mutating func known(_ run: Int64) -> RunnerReport? {
        guard let phase = take().flatMap(RunPhase.init), let pid = take(Int32.self),
            let started = take(Int64.self), let kept = take(UInt32.self),
            let stdout = take(Int64.self), let stderr = take(Int64.self)
        else { return nil }
        var known = KnownRun(phase: phase, pid: pid, startedAtMicroseconds: started)
        known.outputKept = Int(kept)
        (known.stdoutPassed, known.stderrPassed) = (stdout, stderr)
        return .known(run: run, known)
    }

    private mutating func started(_ run: Int64) -> RunnerReport? {
        guard let pid = take(Int32.self), let started = take(Int64.self) else { return nil }
        return .started(
            run: run,
            KnownRun(phase: .running, pid: pid, startedAtMicroseconds: started)
        )
    }

    private mutating func output(_ run: Int64) -> RunnerReport? {
        guard let stream = take(UInt8.self), stream < 2, let date = take(Int64.self),
            let position = take(Int64.self), position >= 0, let bytes = takeBytes()
        else { return nil }
        return .output(
            run: run,
            stream: stream == 0 ? .stdout : .stderr,
            date: date,
            position: position,
            bytes: bytes
        )
    }

    private mutating func answer() -> SignalAnswer? {
        switch take(UInt8.self) {
        case 0: .sent
        case 1: .refused
        case 2: .gone
        case 3: .unknown
        default: nil
        }
    }

    private mutating func groups() -> ControlGroups? {
        guard let areThere = take(UInt8.self), let controllers = take(UInt8.self),
            let lack = takeBytes()
        else { return nil }
        return ControlGroups(
            areThere: areThere != 0,
            controllers: ControlGroups.Controllers(rawValue: controllers),
            lack: String(decoding: lack, as: UTF8.self)
        )
    }

    private mutating func end() -> RunnerReport.End? {
        guard let outcome = take().flatMap(RunnerReport.End.Outcome.init),
            let code = take(Int32.self),
            let started = take(Int64.self), let ended = take(Int64.self),
            let user = take(Int64.self), let system = take(Int64.self), let peak = take(Int64.self),
            let stdout = take(Int64.self), let stderr = take(Int64.self),
            let survivors = takePids(), let failure = takeBytes(),
            let lackedMemory = take(UInt8.self)
        else { return nil }
        return RunnerReport.End(
            outcome: outcome,
            code: code,
            startedAtMicroseconds: started,
            endedAtMicroseconds: ended,
            usage: RunUsage(
                userMicroseconds: user,
                systemMicroseconds: system,
                peakMemory: peak > 0 ? peak : nil
            ),
            stdout: stdout,
            stderr: stderr,
            survivors: survivors,
            failure: cspawn_report(failure),
            lackedMemory: lackedMemory != 0
        )
    }
}

extension cspawn_report {
    /// Nil for bytes that are none.
    fileprivate init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count == MemoryLayout<Self>.size else { return nil }
        self.init()
        withUnsafeMutableBytes(of: &self) { $0.copyBytes(from: bytes) }
    }
}
