// SPDX-License-Identifier: Apache-2.0

extension TaskReference {
    var members: [String: JSONValue] {
        ["fire": .integer(fire.rawValue), "token": .integer(token.rawValue)]
    }
}

extension ExtendTasks {
    var members: [String: JSONValue] {
        var members = tasks.map(\.members).parameters(isList: isList)
        if let lease { members["lease"] = .string(lease) }
        if let whileConnected { members["whileConnected"] = .bool(whileConnected) }
        return members
    }
}

extension FinishTasks {
    var members: [String: JSONValue] { tasks.map(\.members).parameters(isList: isList) }
}

extension FailTasks {
    var members: [String: JSONValue] {
        tasks.map { task in
            var members = task.reference.members
            if let reason = task.reason { members["reason"] = .string(reason) }
            return members
        }.parameters(isList: isList)
    }
}

extension ReleaseTasks {
    var members: [String: JSONValue] {
        tasks.map { task in
            var members = task.reference.members
            if let delay = task.delay { members["delay"] = .string(delay) }
            return members
        }.parameters(isList: isList)
    }
}

extension TaskSelection {
    var members: [String: JSONValue] {
        switch self {
        case .fires(let fires): fires.parameters
        case .queue(let queue, let owner, let count): queueMembers(queue, owner, count)
        }
    }
}

extension DropTasks {
    var members: [String: JSONValue] {
        switch self {
        case .fires(let fires): fires.parameters
        case .queue(let queue, let owner, let state, let count):
            queueMembers(queue, owner, count).merging(["state": .string(state.rawValue)]) { $1 }
        }
    }
}

private func queueMembers(_ queue: String, _ owner: String?, _ count: Int?) -> [String: JSONValue] {
    var members: [String: JSONValue] = ["queue": .string(queue)]
    if let owner { members["owner"] = .string(owner) }
    if let count { members["count"] = .integer(Int64(count)) }
    return members
}

extension [FireID] {
    fileprivate var parameters: [String: JSONValue] {
        ["fires": .array(map { .integer($0.rawValue) })]
    }
}

extension [[String: JSONValue]] {
    fileprivate func parameters(isList: Bool) -> [String: JSONValue] {
        if !isList, let only = first { return only }
        return ["tasks": .array(map { .object($0) })]
    }
}
