// SPDX-License-Identifier: Apache-2.0

// What workers send for each task.
extension QuickReader {
    mutating func reserveTasks() throws(Unusual) -> ReserveTasks {
        var request = ReserveTasks(queues: [])
        try object { (reader, name) throws(Unusual) in
            switch try Word(name) {
            case .queues where request.queues.isEmpty:
                request.queues = try reader.strings()
                guard !request.queues.isEmpty else { throw Unusual() }
            case .count where request.count == nil: request.count = Int(try reader.integer())
            case .lease where request.lease == nil: request.lease = try reader.string()
            case .wait where request.wait == nil: request.wait = try reader.string()
            case .whileConnected where request.whileConnected == nil:
                request.whileConnected = try reader.flag()
            case .waitWhileConnected where request.waitWhileConnected == nil:
                request.waitWhileConnected = try reader.flag()
            default: throw Unusual()
            }
        }
        do throws(ControlError) { try request.check() } catch { throw Unusual() }
        return request
    }

    mutating func extendTasks() throws(Unusual) -> ExtendTasks {
        var lease: String?
        var whileConnected: Bool?
        let (tasks, isList) = try attempts { (reader, word) throws(Unusual) in
            switch word {
            case .lease where lease == nil: lease = try reader.string()
            case .whileConnected where whileConnected == nil: whileConnected = try reader.flag()
            default: throw Unusual()
            }
        }
        var request = ExtendTasks(tasks)
        (request.isList, request.lease, request.whileConnected) = (isList, lease, whileConnected)
        do throws(ControlError) { try request.check() } catch { throw Unusual() }
        return request
    }

    mutating func finishTasks() throws(Unusual) -> FinishTasks {
        let (tasks, isList) = try attempts()
        var request = FinishTasks(tasks)
        request.isList = isList
        return request
    }

    /// One attempt, or those in `tasks`, and whether it is a list; `other` reads the members beside these.
    private mutating func attempts(
        _ other: (inout Self, Word) throws(Unusual) -> Void = nothingElse
    ) throws(Unusual) -> (tasks: [TaskReference], isList: Bool) {
        var one = Attempt()
        var list: [TaskReference]?
        try object { (reader, name) throws(Unusual) in
            switch try Word(name) {
            case .tasks where list == nil: list = try reader.attemptList()
            case .tasks: throw Unusual()
            case let word:
                if try !one.read(word, &reader) { try other(&reader, word) }
            }
        }
        guard let list else { return ([try one.finished()], false) }
        guard one.isEmpty else { throw Unusual() }
        return (list, true)
    }

    private mutating func attemptList() throws(Unusual) -> [TaskReference] {
        var list: [TaskReference] = []
        try array { (reader) throws(Unusual) in
            guard list.count < Limits.tasks else { throw Unusual() }
            var one = Attempt()
            try reader.object { (reader, name) throws(Unusual) in
                guard try one.read(Word(name), &reader) else { throw Unusual() }
            }
            list.append(try one.finished())
        }
        guard !list.isEmpty else { throw Unusual() }
        return list
    }

    /// What was read of one attempt.
    private struct Attempt {
        private var fire: Int64?
        private var token: Int64?

        var isEmpty: Bool { fire == nil && token == nil }

        /// - Returns: whether the member is one of its own.
        mutating func read(_ word: Word, _ reader: inout QuickReader) throws(Unusual) -> Bool {
            switch word {
            case .fire where fire == nil: fire = try reader.integer()
            case .token where token == nil: token = try reader.integer()
            case .fire, .token: throw Unusual()
            default: return false
            }
            return true
        }

        func finished() throws(Unusual) -> TaskReference {
            guard let fire, let token else { throw Unusual() }
            return TaskReference(fire: FireID(rawValue: fire), token: RunID(rawValue: token))
        }
    }
}
