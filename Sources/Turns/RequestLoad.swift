// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
package import TimerControl

/// What a request takes of what all users share, known before it begins.
package struct RequestLoad: Hashable, Sendable {
    package var kind: Kind
    /// How many of that kind's places it takes.
    var units = 1
    /// The most that the reply is expected to have.
    package var bytes = 0
    /// What the reply may have beyond that; the replies of a batch are bounded together.
    package var bytesToCome = 0
    /// Whether it takes them for as long as its client likes: a subscription, or a worker who waits.
    package var lasts = false
    /// Whether it is the reading of a line, which may have to wait then for others to begin what it asks for.
    package var isReading = false

    /// A change of more jobs than this is a bulk: it takes one to ten milliseconds of the store's time.
    ///
    /// So many may be on their way of one user, too, while others are active.
    package static let manyJobs = 128
    /// A change of so many bytes takes about as much of the store's time as two jobs that carry little.
    static let bytesOfJob = 4096
    /// More definitions than this are checked off the loop: one or two milliseconds of its time.
    static let manyDefinitions = 16
    /// Longer lines are read off the loop.
    static let longLine = 4096
    /// How many bytes of an incomplete line every connection may hold without a place.
    package static let partOfLine = 16_384
    /// What the rest of a line takes, once more than `partOfLine` of it has come.
    package static let restOfLine = {
        var load = RequestLoad(kind: .input, bytes: Limits.line)
        load.isReading = true
        return load
    }()
    /// Lines longer than this hold many jobs, or a batch: they are read one at a time.
    static let bulkLine = 65_536

    /// What a line takes that is no request, and so does a request that cannot be read.
    package static let refusal = RequestLoad(kind: .light, bytes: row)

    /// A batch of no more requests is read on the loop where its line is short, and does not count until they have begun.
    static let fewRequests = 64
    /// What a request of a batch takes until it has begun, and its place among the replies; a fault's element has two bytes.
    static let waitingRequest = 320
    /// What the rest of a short line may take once it is read, to be read on the loop, and not to count.
    static let littleOnceRead = 65_536

    /// What reading a line takes, before it is known what it asks for; nil for a short one that takes little.
    package init?(reading line: [UInt8]) {
        let requests = Self.mostRequests(in: line)
        if line.count > Self.bulkLine {
            // One such line is read at a time, and most go on with this place.
            self.init(kind: .bulk, bytes: 4 * line.count + Self.bytes(of: requests))
        } else {
            let bytes = Self.bytes(ofRead: line)
            let isLittle = line.count <= Self.longLine && bytes <= Self.littleOnceRead
            guard !isLittle || requests > Self.fewRequests else { return nil }
            self.init(kind: .check, bytes: bytes)
        }
        isReading = true
    }

    /// What a line takes once it is read, until the last of its requests has begun.
    ///
    /// It may be many times the line: the definition of a job in 24 bytes takes 750, and has two objects.
    package static func bytes(ofRead line: [UInt8]) -> Int {
        let (objects, values) = line.reduce(into: (0, 0)) { counts, byte in
            if byte == UInt8(ascii: "{") { counts.0 += 1 }
            if byte == UInt8(ascii: ",") { counts.1 += 1 }
        }
        return line.count + 384 * objects + 16 * values + bytes(of: mostRequests(in: line))
    }

    private static func bytes(of requests: Int) -> Int {
        requests > fewRequests ? requests * waitingRequest : 0
    }

    /// How many bytes each element of a batch has, of a line that is JSON.
    package static func sizes(ofElementsIn batch: [UInt8]) -> [Int] {
        var sizes: [Int] = []
        var (start, depth, isText, isEscaped) = (0, 0, false, false)
        for (index, byte) in batch.enumerated() {
            guard !isText else {
                if !isEscaped, byte == UInt8(ascii: "\"") { isText = false }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth == 1 { start = index + 1 }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                if depth == 0 { sizes.append(index - start) }
            case UInt8(ascii: ",") where depth == 1:
                sizes.append(index - start)
                start = index + 1
            default: break
            }
        }
        return sizes
    }

    /// No batch has more elements than commas and one; one of too many requests is refused.
    private static func mostRequests(in line: [UInt8]) -> Int {
        guard line.first(where: { $0 > 0x20 }) == UInt8(ascii: "[") else { return 1 }
        return min(line.count { $0 == UInt8(ascii: ",") } + 1, Limits.batch)
    }

    package init(kind: Kind, units: Int = 1, bytes: Int = 0, lasts: Bool = false) {
        self.kind = kind
        self.units = units
        self.bytes = bytes
        self.lasts = lasts
    }

    /// Requests that take no more bytes are admitted, within `RequestTurns.smallBytes`, even if their user's share is used
    /// up.
    static let small = 16_384

    /// Who holds less matters to nobody else.
    package static let muchHeld = 65_536

    /// What takes nothing but so much memory, for as long as its client likes.
    private init(waitingWith bytes: Int) {
        self.init(kind: bytes > Self.small ? .largeWaiting : .waiting, bytes: bytes, lasts: true)
    }

    /// How many workers of a connection wait without a count among its user's requests; more of them count.
    static let waitingAtOnce = 4

    /// What a request takes.
    ///
    /// `waiting`: how many of its connection's workers wait already, nil for one in a batch, of which the replies are
    /// counted together: it is none of the few. `lineBytes`: the bytes of its line, or its own of a batch's line.
    package init(of request: Request, lineBytes: Int, waiting: Int? = 0) {
        switch request {
        case .addJobs(let request):
            self.init(
                changing: request.definitions.count,
                units: request.definitions.reduce(0) {
                    // It may be a change of the job that has its name.
                    $0 + (request.replace ? Self.units(changingTo: $1) : $1.writeUnits)
                },
                lineBytes: lineBytes
            )
        case .applyJobs(let request):
            // How many jobs an upload has is not known yet; the reply has their ids.
            if request.upload != nil {
                self.init(kind: .bulk, bytes: 8 * Limits.uploadJobs)
            } else {
                self.init(
                    changing: request.count,
                    units: request.invalidate.count
                        + request.change.reduce(0) { $0 + Self.units(changingTo: $1.definition) }
                        + request.add.reduce(0) { $0 + $1.writeUnits },
                    lineBytes: lineBytes
                )
            }
        // All of an owner's jobs.
        case .beginMaintenance, .endMaintenance: self.init(kind: .bulk, bytes: 1 << 18)
        // A part is up to 1 MiB, an upload up to 32 MiB.
        case .putPart, .dropUpload: self.init(kind: .bulk, bytes: Self.row)
        case .invalidateJobs(let request): self.init(changing: request.jobs)
        case .pauseJobs(let jobs), .resumeJobs(let jobs): self.init(changing: jobs)
        case .restoreJobs(let jobs?): self.init(changing: jobs)
        // How many jobs that are is not known yet.
        case .restoreJobs(nil): self.init(kind: .bulk, bytes: 1 << 18)
        case .skipJobs(let request):
            self.init(changing: request.jobs, each: 1 + request.count / 100)
        case .setFireDate, .fireJob, .setQueue: self.init(kind: .write, bytes: Self.row)
        case .listJobs, .listRuns, .listNotices, .listTasks, .listQueues, .jobDates:
            self.init(kind: .page, bytes: Limits.pageBytes)
        case .getJob, .getRun, .listUploads: self.init(kind: .lookup, bytes: 16 * Self.row)
        case .killRun, .listNodes: self.init(kind: .remote, bytes: 16 * Self.row)
        // It waits for the place that `workOf` says.
        case .readOutput: self.init(kind: .light, bytes: 184_320)
        case .previewSchedule: self.init(kind: .check, bytes: 32 * Self.row)
        case .status, .metrics: self.init(kind: .lookup, bytes: 8 * Self.row)
        case .reserveTasks(let request):
            self.init(reserving: request, lineBytes: lineBytes, waiting: waiting)
        case .extendTasks(let request):
            self.init(changing: request.tasks.count, lineBytes: lineBytes)
        case .finishTasks(let request):
            self.init(changing: request.tasks.count, lineBytes: lineBytes)
        case .failTasks(let request):
            self.init(changing: request.tasks.count, lineBytes: lineBytes)
        case .releaseTasks(let request):
            self.init(changing: request.tasks.count, lineBytes: lineBytes)
        case .retryTasks(.fires(let fires)), .dropTasks(.fires(let fires)):
            self.init(changing: fires.count, telling: Self.row)
        case .retryTasks(.queue(_, _, let count)), .dropTasks(.queue(_, _, _, let count)):
            self.init(changing: count ?? 1000, telling: Self.row)
        case .kickTasks(let request): self.init(changing: request.count ?? 1000, telling: Self.row)
        case .jobCalendar, .runCalendar:
            self.init(kind: .page, bytes: 128 * ReadCalendar.mostBuckets)
        case .subscribe(let request):
            let jobs = request.jobs?.count ?? 0
            self.init(waitingWith: Self.row + 16 * jobs)
        case .backUp, .checkDatabase, .drainNode:
            self.init(kind: .light, bytes: Self.row)
        }
    }

    private init(reserving request: ReserveTasks, lineBytes: Int, waiting: Int?) {
        let names = min(lineBytes, Self.queueNames)
        guard request.mayWaitForTask else {
            let bytes = min((request.count ?? 1) * Self.task, Limits.pageBytes)
            self.init(kind: .write, units: request.units, bytes: bytes + names)
            return
        }
        // It has no tasks for as long as it waits; what it is answered with counts as what its connection holds.
        if let waiting, waiting < Self.waitingAtOnce {
            self.init(waitingWith: names)
            return
        }
        let count = request.count ?? 1
        // Who waits is not to keep what comes behind it, such as the end of a task, from being read.
        let held = min(count * Self.row, Limits.pageBytes)
        self.init(kind: .light, units: request.units, bytes: held + names, lasts: true)
        if waiting == nil { bytesToCome = min(count * Self.task, Limits.pageBytes) - held }
    }

    /// What a request takes for a part of its work, so that others do not wait for what it waits for; nil for one without
    /// such a part.
    package init?(workOf request: Request) {
        switch request {
        case .readOutput: self.init(kind: .output)
        case .reserveTasks(let request) where request.mayWaitForTask:
            self.init(kind: .look, units: request.units)
        default: return nil
        }
    }

    /// The bytes of a small job in a reply.
    private static let row = 1024
    /// The most bytes of a task in a reply.
    private static let task = row + Limits.userInfo
    /// The most bytes of a line that are the names of queues, whatever blanks it has.
    private static let queueNames = 1 << 17

    /// Of jobs with tasks one is changed at a time: it is not known yet how many tasks go along.
    private static func units(changingTo definition: JobDefinition) -> Int {
        definition.mayHaveTasks ? max(manyJobs, definition.writeUnits) : definition.writeUnits
    }

    /// What stores the bytes of a line, and is answered with them.
    ///
    /// The store's queue has no turns: without this a newcomer's change could wait there for 16 MiB of another user. But
    /// only many jobs make a bulk, after which one rests.
    private init(changing count: Int, units: Int? = nil, lineBytes: Int) {
        self.init(changing: count, units: units, telling: lineBytes)
        guard kind == .write else { return }
        self.units = min(self.units + lineBytes / Self.bytesOfJob, Self.manyJobs)
    }

    /// `units`: what their write takes; nil for one for each.
    private init(changing count: Int, units: Int? = nil, telling bytes: Int) {
        let units = units ?? count
        self.init(
            kind: units > Self.manyJobs ? .bulk : .write,
            units: units > Self.manyJobs ? 1 : max(units, 1),
            bytes: bytes + count * 400
        )
    }

    private init(changing jobs: JobSelection, each: Int = 1) {
        switch jobs {
        case .ids(let ids):
            self.init(changing: ids.count * each, telling: min(ids.count * Self.row, 1 << 18))
        case .name: self.init(changing: each, telling: Self.row)
        // How many jobs that selects is not known yet.
        case .tag, .owner: self.init(kind: .bulk, bytes: 1 << 18)
        }
    }
}

extension Request {
    /// Whether checking it takes longer than the loop may be kept.
    package var isCheckedOffLoop: Bool {
        switch self {
        case .addJobs(let request): request.definitions.count > RequestLoad.manyDefinitions
        case .applyJobs(let request):
            request.add.count + request.change.count > RequestLoad.manyDefinitions
        case .putPart: true
        case .previewSchedule: true
        default: false
        }
    }

    /// Whether it is a preview: once it has been checked, only up to a thousand dates are left to encode.
    ///
    /// That takes a millisecond or two, so it is not done on the loop; the order among other requests does
    /// not matter.
    package var isPreview: Bool { if case .previewSchedule = self { true } else { false } }

    /// Whether it is cancelled when the client is gone: it changes nothing, or, as a backup, heeds that only while it
    /// waits for its turn.
    package var endsWithClient: Bool {
        method == .backUp || method.changesNothing && method != .subscribe
    }
}

extension ReserveTasks {
    /// Whether it waits where there is no task.
    package var mayWaitForTask: Bool { waitSpan > .zero }

    /// As much of the store's time as so many changed jobs take: four tasks are handed out, or four queues looked at,
    /// in that of one.
    fileprivate var units: Int { 1 + ((count ?? 1) + queues.count) / 4 }
}
