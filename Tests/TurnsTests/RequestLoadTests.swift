// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Turns

@Suite("RequestLoad") struct RequestLoadTests {
    typealias Kind = RequestLoad.Kind

    /// What a request takes.
    struct Row: Sendable {
        var request: Request
        var kind: Kind
        var units = 1
    }

    static func ids(_ count: Int64) -> JobSelection {
        .ids((0..<count).map { JobID(rawValue: $0 + 1) })
    }

    static func definitions(_ count: Int, tags: Int = 0) -> [JobDefinition] {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        definition.tags = (0..<tags).map { "\($0)" }
        return Array(repeating: definition, count: count)
    }

    static func revisions(_ count: Int64, queue: String? = nil, until: String? = nil)
        -> [JobRevision]
    {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        (definition.queue, definition.until) = (queue, until)
        return (0..<count).map { JobRevision(id: JobID(rawValue: $0 + 1), definition: definition) }
    }

    static let job = JobID(rawValue: 1)
    static let rows = [
        // Changes count by their jobs; many are bulk, and so is what may be any number.
        Row(request: .addJobs(AddJobs(definitions(1))), kind: .write),
        Row(request: .addJobs(AddJobs(definitions(128))), kind: .write, units: 128),
        Row(request: .addJobs(AddJobs(definitions(129))), kind: .bulk),
        // A tag is a row of its own.
        Row(request: .addJobs(AddJobs(definitions(1, tags: 7))), kind: .write),
        Row(request: .addJobs(AddJobs(definitions(14, tags: 64))), kind: .write, units: 126),
        Row(request: .addJobs(AddJobs(definitions(15, tags: 64))), kind: .bulk),
        Row(request: .applyJobs(ApplyJobs(add: definitions(15, tags: 64))), kind: .bulk),
        // Nobody knows how many tasks go along with a job that is changed.
        Row(request: .applyJobs(ApplyJobs(change: revisions(9))), kind: .write, units: 9),
        Row(
            request: .applyJobs(ApplyJobs(change: revisions(1, queue: "a"))),
            kind: .write,
            units: 128
        ),
        Row(
            request: .applyJobs(ApplyJobs(change: revisions(1, until: "+1d"))),
            kind: .write,
            units: 128
        ),
        Row(request: .applyJobs(ApplyJobs(change: revisions(2, queue: "a"))), kind: .bulk),
        Row(
            request: .addJobs(
                AddJobs(revisions(1, queue: "a").map(\.definition), replace: true)
            ),
            kind: .write,
            units: 128
        ),
        Row(
            request: .addJobs(AddJobs(revisions(9, queue: "a").map(\.definition))),
            kind: .write,
            units: 9
        ),
        Row(request: .invalidateJobs(InvalidateJobs(ids(1))), kind: .write),
        Row(request: .invalidateJobs(InvalidateJobs(ids(128))), kind: .write, units: 128),
        Row(request: .invalidateJobs(InvalidateJobs(ids(129))), kind: .bulk),
        Row(request: .invalidateJobs(InvalidateJobs(.name("a"))), kind: .write),
        Row(request: .invalidateJobs(InvalidateJobs(.tag("a"))), kind: .bulk),
        Row(request: .pauseJobs(.owner("ann")), kind: .bulk),
        Row(request: .dropUpload("big"), kind: .bulk),
        Row(request: .resumeJobs(ids(3)), kind: .write, units: 3),
        // Dates that are dropped take time as well.
        Row(request: .skipJobs(SkipJobs(jobs: .name("a"), count: 99)), kind: .write),
        Row(request: .skipJobs(SkipJobs(jobs: .name("a"), count: 1000)), kind: .write, units: 11),
        Row(request: .skipJobs(SkipJobs(jobs: ids(2), count: 10_000)), kind: .bulk),
        Row(request: .setFireDate(SetFireDate(job: .id(job), fireDate: "+1h")), kind: .write),
        Row(request: .fireJob(.id(job)), kind: .write),
        Row(request: .listJobs(ListJobs()), kind: .page),
        Row(request: .listRuns(ListRuns()), kind: .page),
        Row(request: .getJob(.name("a")), kind: .lookup),
        Row(request: .status, kind: .lookup),
        Row(request: .metrics, kind: .lookup),
        Row(request: .subscribe(Subscribe()), kind: .waiting),
        Row(request: .checkDatabase, kind: .light),
        Row(request: .backUp(BackUp(file: "/b")), kind: .light),
        Row(request: .listNodes, kind: .remote),
        Row(request: .killRun(KillRun(RunID(rawValue: 1))), kind: .remote),
        Row(request: .drainNode(DrainNode(name: "alpha")), kind: .light),
    ]

    @Test(
        "A few waiting workers of a connection take memory for themselves; more are requests"
    )
    func waiting() {
        var reserve = ReserveTasks(queues: ["mails"])
        reserve.wait = "1h"
        for waiting in 0..<6 {
            let load = RequestLoad(of: .reserveTasks(reserve), lineBytes: 100, waiting: waiting)
            #expect(load.kind == (waiting < 4 ? .waiting : .light))
            #expect(load.bytes == (waiting < 4 ? 100 : 1124))
            #expect(load.lasts)
            #expect(load.kind.isRequest == (waiting >= 4))
        }
        reserve.wait = nil
        let brief = RequestLoad(of: .reserveTasks(reserve), lineBytes: 100)
        #expect(brief.kind == .write)
        #expect(!brief.lasts)
    }

    @Test(
        "Who reserves tasks takes room for the words of each, up to a page; in a batch who waits may have as much",
        arguments: [(nil, 66_660), (3, 199_780), (4, 262_244), (1000, 262_244)] as [(Int?, Int)]
    )
    func reserved(count: Int?, bytes: Int) {
        for wait in [nil, "1h"] {
            var reserve = ReserveTasks(queues: ["mails"])
            (reserve.count, reserve.wait) = (count, wait)
            let load = RequestLoad(of: .reserveTasks(reserve), lineBytes: 100, waiting: nil)
            #expect(load.bytes + load.bytesToCome == bytes)
            let held = wait == nil ? bytes : min((count ?? 1) * 1024, 262_144) + 100
            #expect(load.bytes == held)
            #expect(load.kind.isRequest)
        }
    }

    @Test(
        "Who reserves takes places by how many tasks and queues he names, at once or as he waits",
        arguments: [(1, nil, 1), (1, 3, 2), (64, 1, 17), (64, 1000, 267)] as [(Int, Int?, Int)]
    )
    func looks(queues: Int, count: Int?, units: Int) {
        var reserve = ReserveTasks(queues: (0..<queues).map { "q\($0)" })
        reserve.count = count
        #expect(RequestLoad(of: .reserveTasks(reserve), lineBytes: 100).units == units)
        #expect(RequestLoad(workOf: .reserveTasks(reserve)) == nil)
        reserve.wait = "1h"
        let work = RequestLoad(workOf: .reserveTasks(reserve))
        #expect(work == RequestLoad(kind: .look, units: units))
        #expect(units <= Kind.look.places)
    }

    @Test("A run's output takes the place of all outputs only as it is told")
    func output() {
        var read = ReadOutput(id: RunID(rawValue: 1))
        for wait in [nil, true] {
            read.wait = wait
            #expect(RequestLoad(of: .readOutput(read), lineBytes: 100).kind == .light)
            let work = RequestLoad(workOf: .readOutput(read))
            #expect(work == RequestLoad(kind: .output))
            #expect(work?.kind.isRequest == false, "the request counts already")
        }
    }

    @Test("A subscription takes memory for each job that it names, and is no request in progress")
    func subscription() {
        var subscribe = Subscribe()
        subscribe.jobs = Array(repeating: Self.job, count: 10_000)
        let load = RequestLoad(of: .subscribe(subscribe), lineBytes: 100)
        #expect(load == RequestLoad(kind: .largeWaiting, bytes: 161_024, lasts: true))
        #expect(!load.kind.isRequest)
    }

    @Test("A large subscription that waits for memory holds up no little one of its user")
    func passed() {
        let user = RequestTurns<Int>.User(uid: 1001, isAdministrator: false)
        var turns = RequestTurns<Int>(requestsPerUser: 1000)
        var subscribe = Subscribe()
        subscribe.jobs = Array(repeating: Self.job, count: 10_000)
        let large = RequestLoad(of: .subscribe(subscribe), lineBytes: 100)
        let count = RequestTurns<Int>.bytesPerUser / large.bytes
        let begun = (0...count).filter { turns.take(large, for: user, $0) }
        #expect(begun.count == count)
        var reserve = ReserveTasks(queues: ["mails"])
        reserve.wait = "1h"
        for request in [Request.subscribe(Subscribe()), .reserveTasks(reserve)] {
            let load = RequestLoad(of: request, lineBytes: 100)
            let isBegun = turns.take(load, for: user, count + 1)
            #expect(isBegun)
            turns.end(load, of: user.uid)
            turns.hold(-load.bytes, of: user.uid)
        }
        turns.end(large, of: user.uid)
        turns.hold(-large.bytes, of: user.uid)
        let next = turns.next()
        #expect(next == count)
    }

    @Test("A request takes places by what it asks for and by how many jobs", arguments: rows)
    func requests(row: Row) {
        let load = RequestLoad(of: row.request, lineBytes: 100)
        #expect(load.kind == row.kind)
        #expect(load.units == row.units)
        #expect(load.bytes > 0, "its reply has a size")
    }

    @Test(
        "What stores the bytes of its line takes a place for each 4 KiB as well, and is no bulk for that",
        arguments: [(100, 1), (4095, 1), (4096, 2), (65_536, 17), (1_048_576, 128)]
            as [(Int, Int)]
    )
    func bytes(lineBytes: Int, units: Int) {
        let changes: [Request] = [
            .addJobs(AddJobs(Self.definitions(1))),
            .applyJobs(ApplyJobs(change: Self.revisions(1))),
        ]
        for change in changes {
            let load = RequestLoad(of: change, lineBytes: lineBytes)
            #expect(load.kind == .write)
            #expect(load.units == units)
        }
        // A long list of ids stores nothing of its line.
        let pause = RequestLoad(of: .pauseJobs(Self.ids(1)), lineBytes: lineBytes)
        #expect(pause.units == 1)
    }

    @Test(
        "Each request of a batch has its own bytes, whatever texts it has",
        arguments: [
            ("[1]", ["1"]), (" [ {\"a\":1} ,2]", [" {\"a\":1} ", "2"]),
            (
                #"[{"a":"]},[\\"},[1,{"b":[2,3]}],"\\\",","x"]"#,
                [#"{"a":"]},[\\"}"#, #"[1,{"b":[2,3]}]"#, #""\\\",""#, #""x""#]
            ),
        ] as [(String, [String])]
    )
    func elements(line: String, elements: [String]) {
        let sizes = RequestLoad.sizes(ofElementsIn: Array(line.utf8))
        #expect(sizes == elements.map(\.utf8.count))
    }

    @Test("No request needs more places than there are of its kind", arguments: rows)
    func fits(row: Row) {
        let load = RequestLoad(of: row.request, lineBytes: 100)
        #expect(load.units <= load.kind.places)
    }

    @Test(
        "A line takes a place by its length, before it is known what it asks for",
        arguments: [(4096, nil), (4097, .check), (65_536, .check), (65_537, .bulk)]
            as [(Int, Kind?)]
    )
    func lines(count: Int, kind: Kind?) {
        let load = RequestLoad(reading: Array(repeating: UInt8(ascii: " "), count: count))
        #expect(load?.kind == kind)
        #expect(load?.isReading == kind.map { _ in true })
        #expect(load?.bytes == kind.map { $0 == .bulk ? 4 * count : count })
    }

    @Test("A line takes memory for each definition that it has, however short they are")
    func shortDefinitions() throws {
        func line(_ count: Int) -> [UInt8] {
            let definition = #"{"schedule":{"in":"1h"}}"#
            let list = Array(repeating: definition, count: count).joined(separator: ",")
            return Array(
                #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":{"jobs":[\#(list)]}}"#.utf8
            )
        }
        #expect(RequestLoad(reading: line(64)) == nil)
        for count in [128, 2000] {
            let load = try #require(RequestLoad(reading: line(count)))
            #expect(load.kind == .check)
            #expect(load.bytes > count * 750)
        }
        // One is read at a time; what waits then counts for what it is.
        #expect(RequestLoad(reading: line(10_000))?.bytes == 4 * line(10_000).count)
        #expect(RequestLoad.bytes(ofRead: line(10_000)) > 10_000 * 750)
    }

    @Test("A batch takes memory for each of its requests, however short they are")
    func batches() {
        func load(_ count: Int) -> RequestLoad? {
            RequestLoad(
                reading: Array(
                    " [\(Array(repeating: "1", count: count).joined(separator: ","))]".utf8
                )
            )
        }
        #expect(load(64) == nil)
        #expect(load(65)?.bytes == 65 * 320 + 64 * 16 + 132)
        #expect(load(10_000)?.bytes == 3_200_000 + 9999 * 16 + 20_002)
        // It is refused.
        #expect(load(30_000)?.bytes == 3_200_000 + 29_999 * 16 + 60_002)
    }

    @Test(
        "What changes nothing, or waits for its turn, is dropped once its client has gone, and nothing else"
    )
    func dropped() {
        let dropped = Self.rows.filter(\.request.endsWithClient).map(\.request.method)
        #expect(
            Set(dropped) == [
                .listJobs, .listRuns, .getJob, .status, .metrics, .listNodes, .checkDatabase,
                .backUp,
            ]
        )
    }
}
