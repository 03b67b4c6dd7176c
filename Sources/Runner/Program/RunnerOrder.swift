// SPDX-License-Identifier: Apache-2.0

import CSpawn
import JobModel
import LinuxSystem

/// What the daemon says to the runner: docs/runner-protocol.md.
enum RunnerOrder {
    case hello(version: UInt32)
    case start(RunRequest, files: [String])
    /// Begins to end a run, with the rights of its owner or the runner's own; `withAll`: because all runs are ended;
    /// `isAgain`: unless it is being ended as a daemon has asked before; `asBegun`: by the rules that it was begun with, and
    /// not by these; `withRest`: by these also what its own process leaves behind, or has left behind.
    case end(
        run: Int64,
        Teardown,
        asRunner: Bool,
        withAll: Bool = false,
        isAgain: Bool = false,
        asBegun: Bool = false,
        withRest: Bool = false
    )
    /// The end of a run is stored.
    case stored(run: Int64)
    /// Ends the runner once it has nothing left.
    case leave
    /// Begins to end all runs, each by its own rules; none is started any more.
    case endAll
    /// So much of both streams was passed on: the next daemon goes on behind it.
    case passed(run: Int64, stdout: Int64, stderr: Int64)
    /// Is answered at once by a runner that does not hang.
    case ping
    /// To the agent of a node: what it is to run, if it can, once it is told to `go`.
    case offer(run: Int64, [UInt8])
    /// It may begin what it was offered and is ready for, within so many µs since it has said so.
    case go(run: Int64, within: Int64)
    /// It is not to begin what it was offered.
    case withdraw(run: Int64)

    /// The frame, complete.
    var frame: [UInt8] {
        var frame = FrameWriter(kind: kind)
        switch self {
        case .hello(let version): frame.put(version)
        case .start(let request, let files): frame.put(request, files: files)
        case .end(
            let run,
            let teardown,
            let asRunner,
            let withAll,
            let isAgain,
            let asBegun,
            let withRest
        ):
            var flags: EndFlags = []
            if asRunner { flags.insert(.asRunner) }
            if withAll { flags.insert(.withAll) }
            if isAgain { flags.insert(.isAgain) }
            if asBegun { flags.insert(.asBegun) }
            if withRest { flags.insert(.withRest) }
            frame.put(run)
            frame.put(flags.rawValue)
            frame.put(teardown)
        case .stored(let run): frame.put(run)
        case .leave, .endAll, .ping: break
        case .offer(let run, let offer):
            frame.put(run)
            frame.put(offer)
        case .go(let run, let within): for value in [run, within] { frame.put(value) }
        case .withdraw(let run): frame.put(run)
        case .passed(let run, let stdout, let stderr):
            for value in [run, stdout, stderr] { frame.put(value) }
        }
        return frame.complete
    }

    private var kind: UInt8 {
        switch self {
        case .hello: 1
        case .start: 2
        case .end: 3
        case .stored: 4
        case .leave: 5
        case .endAll: 6
        case .passed: 7
        case .ping: 8
        case .offer: 64
        case .go: 65
        case .withdraw: 66
        }
    }
}

/// Which fields of an order to start count.
private struct StartFlags: OptionSet {
    let rawValue: UInt8
    static let credentials = Self(rawValue: 1)
    static let nice = Self(rawValue: 2)
    static let timeout = Self(rawValue: 4)
    static let session = Self(rawValue: 8)
    static let completesEnvironment = Self(rawValue: 16)
    static let secrets = Self(rawValue: 32)
    static let latest = Self(rawValue: 64)
    static let beginsElsewhere = Self(rawValue: 128)
}

/// What an order to end a run says beside how.
private struct EndFlags: OptionSet {
    let rawValue: UInt8
    static let asRunner = Self(rawValue: 1)
    static let withAll = Self(rawValue: 2)
    static let isAgain = Self(rawValue: 4)
    static let asBegun = Self(rawValue: 8)
    static let withRest = Self(rawValue: 16)
}

/// The frame that is being written.
struct FrameWriter {
    private var bytes: [UInt8]

    init(kind: UInt8) { bytes = [0, 0, 0, 0, kind] }

    /// With its length, now that it is known.
    var complete: [UInt8] {
        var frame = bytes
        withUnsafeBytes(of: UInt32(frame.count - 4).littleEndian) { length in
            frame.replaceSubrange(0..<4, with: length)
        }
        return frame
    }

    mutating func put(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func put(_ value: [UInt8]) {
        put(UInt32(value.count))
        bytes += value
    }

    /// A string, which has no NUL: `RunRequest.check` has refused it.
    mutating func put(_ value: String) {
        put(UInt32(value.utf8.count + 1))
        bytes += value.utf8
        bytes.append(0)
    }

    mutating func put(_ values: [String]) {
        put(UInt32(values.count))
        for value in values { put(value) }
    }

    mutating func put(_ teardown: Teardown) {
        let signals = teardown.signals
        put(UInt32(signals.count))
        for step in signals {
            put(step.signal)
            put(step.grace.wholeMicroseconds)
        }
    }

    mutating func put(_ request: RunRequest, files: [String]) {
        var flags: StartFlags = []
        if request.credentials != nil { flags.insert(.credentials) }
        if request.limits.nice != nil { flags.insert(.nice) }
        if request.timeout != nil { flags.insert(.timeout) }
        if request.session != nil { flags.insert(.session) }
        if request.completesEnvironment { flags.insert(.completesEnvironment) }
        if !request.secrets.isEmpty { flags.insert(.secrets) }
        if request.latest != nil { flags.insert(.latest) }
        if request.beginsElsewhere { flags.insert(.beginsElsewhere) }
        put(request.run)
        put(flags.rawValue)
        put(request.credentials?.uid ?? 0)
        put(request.credentials?.gid ?? 0)
        let groups = request.credentials?.groups ?? []
        put(UInt32(groups.count))
        for group in groups { put(group) }
        put(request.limits.nice ?? 0)
        put(request.limits.memoryMax ?? .max)
        put(request.limits.cpuTime ?? .max)
        put(request.openFiles)
        put(request.limits.memoryHigh ?? .max)
        put(request.limits.tasksMax ?? .max)
        put(request.limits.cpuWeight ?? 0)
        put(request.limits.cpuQuota ?? 0)
        put(request.limits.ioWeight ?? 0)
        put(request.limits.umask)
        put(request.timeout?.wholeMicroseconds ?? 0)
        put(UInt32(request.output.limit))
        put(request.teardown)
        put(request.workingDirectory)
        put(files)
        put(request.argv)
        put(request.environment.map { "\($0)=\($1)" })
        put(request.input)
        if let session = request.session {
            put(session.service)
            put(session.user)
        }
        if !request.secrets.isEmpty {
            put(UInt32(request.secrets.count))
            for secret in request.secrets {
                put(secret.name)
                put(secret.path)
                put(secret.isAdministrators ? 1 : 0 as UInt8)
            }
        }
        if let latest = request.latest { put(latest) }
    }
}

extension Duration {
    /// Of 0 and more; as many as there may be for one that is longer.
    fileprivate var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, overflows) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        return overflow || overflows ? .max : max(sum, 0)
    }
}
