// SPDX-License-Identifier: Apache-2.0

import Schedules

extension ReserveTasks {
    init(_ parameters: Parameters) throws(ControlError) {
        self = try parameters.decoded(Self.self, fields: Self.fieldNames)
        try check()
    }

    func check() throws(ControlError) {
        guard !queues.isEmpty else { throw .wrong("queues", "empty", "one name or more") }
        try checkCount(queues.count, Limits.queuesReserved, "names", "queues")
        for (index, name) in queues.enumerated() { try checkQueue(name, "queues[\(index)]") }
        if let count { try checkRange(count, 1...Limits.tasks, "count") }
        try checkSpan(lease, Self.leases, "lease")
        try checkSpan(wait, Self.waits, "wait")
    }
}

extension ExtendTasks {
    init(_ parameters: Parameters) throws(ControlError) {
        (tasks, isList) = try parameters.tasks(besides: ["lease", "whileConnected"]) {
            (part) throws(ControlError) in try part.task()
        }
        lease = try parameters.optional(String.self, "lease")
        try check()
        whileConnected = try parameters.optional(Bool.self, "whileConnected")
    }

    func check() throws(ControlError) { try checkSpan(lease, ReserveTasks.leases, "lease") }
}

extension FinishTasks {
    init(_ parameters: Parameters) throws(ControlError) {
        (tasks, isList) = try parameters.tasks { (part) throws(ControlError) in try part.task() }
    }
}

extension FailTasks {
    init(_ parameters: Parameters) throws(ControlError) {
        (tasks, isList) = try parameters.tasks(each: "reason") {
            (part) throws(ControlError) in
            let reason = try part.optional(String.self, "reason")
            try checkSize(reason?.utf8.count ?? 0, Limits.taskReason, part.place(of: "reason"))
            return FailedTask(try part.task(), reason: reason)
        }
    }
}

extension ReleaseTasks {
    init(_ parameters: Parameters) throws(ControlError) {
        (tasks, isList) = try parameters.tasks(each: "delay") { (part) throws(ControlError) in
            let delay = try part.optional(String.self, "delay")
            try checkSpan(delay, ReleasedTask.delays, part.place(of: "delay"))
            return ReleasedTask(try part.task(), delay: delay)
        }
    }
}

extension ListTasks {
    init(_ parameters: Parameters) throws(ControlError) {
        try parameters.checkNames(among: Self.fieldNames)
        try parameters.checkState(among: [.ready, .delayed, .reserved, .dead])
        self = try parameters.decoded(Self.self)
        if let queue { try checkQueue(queue, "queue") }
        if let limit { try checkRange(limit, 1...Limits.page, "limit") }
    }
}

extension ListQueues {
    init(_ parameters: Parameters) throws(ControlError) {
        self = try parameters.decoded(Self.self, fields: Self.fieldNames)
        if let limit { try checkRange(limit, 1...Limits.page, "limit") }
    }
}

extension TaskSelection {
    init(_ parameters: Parameters) throws(ControlError) {
        try parameters.checkNames(among: ["fires", "queue", "owner", "count"])
        if let fires = try parameters.fires() {
            self = .fires(fires)
        } else {
            self = .queue(
                try parameters.queue(),
                owner: try parameters.optional(String.self, "owner"),
                count: try parameters.manyTasks()
            )
        }
    }
}

extension DropTasks {
    init(_ parameters: Parameters) throws(ControlError) {
        try parameters.checkNames(among: ["fires", "queue", "owner", "state", "count"])
        if let fires = try parameters.fires() {
            self = .fires(fires)
            return
        }
        let queue = try parameters.queue()
        try parameters.checkState(among: [.ready, .delayed, .dead])
        let state = try parameters.required(QueuedTask.State.self, "state")
        let owner = try parameters.optional(String.self, "owner")
        self = .queue(queue, owner: owner, state: state, count: try parameters.manyTasks())
    }
}

extension KickTasks {
    init(_ parameters: Parameters) throws(ControlError) {
        try parameters.checkNames(among: Self.fieldNames)
        self.init(queue: try parameters.queue(), count: try parameters.manyTasks())
        owner = try parameters.optional(String.self, "owner")
    }
}

extension SetQueue {
    init(_ parameters: Parameters) throws(ControlError) {
        self = try parameters.decoded(Self.self, fields: Self.fieldNames)
        try checkQueue(queue, "queue")
        if let maxReserved {
            try checkRange(maxReserved, 0...Limits.tasksInProgress, "maxReserved")
        }
        if let maxRate, maxRate != "none", TaskRate(parsing: maxRate) == nil {
            throw .wrong(
                "maxRate",
                JSONValue.string(maxRate).jsonText,
                "a number of tasks from 1 to \(Limits.tasksInProgress) in a time, such as 10/s, 100/min or 5000/h, or none"
            )
        }
    }
}

extension Parameters {
    /// One attempt, or those in `tasks`, and whether it is a list.
    ///
    /// `shared` are the names beside both, `each` the one beside the attempt.
    fileprivate func tasks<Task>(
        besides shared: Set<String> = [],
        each other: String? = nil,
        _ task: (Parameters) throws(ControlError) -> Task
    ) throws(ControlError) -> (tasks: [Task], isList: Bool) {
        let own = Set(["fire", "token"] + (other.map { [$0] } ?? []))
        try checkNames(among: own.union(shared).union(["tasks"]))
        guard try onlyField(of: ["fire", "tasks"]) == "tasks" else {
            return ([try task(self)], false)
        }
        try checkNames(among: shared.union(["tasks"]), orNull: own)
        guard let list = members["tasks"], case .array(let elements) = list else {
            throw .wrong("tasks", members["tasks"]?.kind ?? "missing", "an array of tasks")
        }
        guard !elements.isEmpty else { throw .wrong("tasks", "empty", "one task or more") }
        try checkCount(elements.count, Limits.tasks, "tasks", "tasks")
        var tasks: [Task] = []
        tasks.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            let part = try Parameters(element, at: .index(.key(.root, "tasks"), index))
            try part.checkNames(among: own)
            tasks.append(try task(part))
        }
        return (tasks, true)
    }

    fileprivate func task() throws(ControlError) -> TaskReference {
        TaskReference(
            fire: try required(FireID.self, "fire"),
            token: try required(RunID.self, "token")
        )
    }

    /// Tasks by their numbers, each once; nil where a queue is named in their place.
    fileprivate func fires() throws(ControlError) -> [FireID]? {
        guard try onlyField(of: ["fires", "queue"]) == "fires" else { return nil }
        try checkNames(among: ["fires"], orNull: ["queue", "owner", "state", "count"])
        let fires = try required([FireID].self, "fires")
        guard !fires.isEmpty else { throw .wrong("fires", "empty", "one number or more") }
        try checkCount(fires.count, Limits.tasks, "numbers", "fires")
        var seen: Set<FireID> = []
        return fires.filter { seen.insert($0).inserted }
    }

    fileprivate func queue() throws(ControlError) -> String {
        let name = try required(String.self, "queue")
        try checkQueue(name, "queue")
        return name
    }

    fileprivate func manyTasks() throws(ControlError) -> Int? {
        let count = try optional(Int.self, "count")
        if let count { try checkRange(count, 1...Limits.manyTasks, "count") }
        return count
    }

    /// Refuses a word that is none of these states; what is no word is left to the one that decodes it.
    ///
    /// Ahead of that: the type has states that a request does not take, and would name them as accepted.
    fileprivate func checkState(among states: [QueuedTask.State]) throws(ControlError) {
        guard let value = members["state"], case .string(let word) = value else { return }
        let words = states.map(\.rawValue)
        guard !words.contains(word) else { return }
        throw .wrong("state", value.jsonText, OptionForm.choice(words).accepted)
    }
}

private func checkQueue(
    _ name: String,
    _ path: @autoclosure () -> String
) throws(ControlError) {
    guard !name.isEmpty else { throw .wrong(path(), "empty", "the name of a queue") }
    try checkSize(name.utf8.count, Limits.name, path())
    let isPlain = name.unicodeScalars.allSatisfy {
        $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)
    }
    guard isPlain else {
        throw .wrong(path(), JSONValue.string(name).jsonText, "text without control characters")
    }
}

private func checkSpan(
    _ words: String?,
    _ range: ClosedRange<TimeSpan>,
    _ path: String
) throws(ControlError) {
    guard let words else { return }
    try checkSize(words.utf8.count, Limits.words, path)
    let span: TimeSpan
    do throws(ScheduleError) {
        span = try TimeSpan(parsing: words)
    } catch {
        throw ControlError(.badSchedule, "parameter '\(path)': \(error.message)")
    }
    guard range.contains(span) else {
        let least = range.lowerBound == .zero ? "0s" : "\(range.lowerBound)"
        throw .wrong(
            path,
            "'\(words)'",
            "a duration from \(least) to \(range.upperBound.inDays)"
        )
    }
}

extension TimeSpan {
    /// In whole days, where it is some: "365 days", which are no year of this type's.
    fileprivate var inDays: String {
        let (days, rest) = microseconds.quotientAndRemainder(dividingBy: 86_400_000_000)
        return days > 0 && rest == 0 ? "\(days) days" : "\(self)"
    }
}
