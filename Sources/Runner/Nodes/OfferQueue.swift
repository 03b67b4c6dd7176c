// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// What a node may be offered now, so that what it is told to do is not long on its way behind it; pure.
///
/// Short offers go at once. Of long ones so many bytes are on their way, and the next waits until the node has answered; users take
/// turns.
struct OfferQueue: Sendable {
    static let mostBytes = 128 * 1024
    static let short = 4 * 1024

    /// Of the runs that were offered and are not answered: how many bytes each long one has.
    private var offered: [Int64: Int] = [:]
    private var bytes = 0
    private var users: Deque<String> = []
    private var waiting: [String: Deque<RunRequest>] = [:]

    /// Whether a run may be offered now; else it waits for `answered`.
    mutating func begin(_ request: RunRequest) -> Bool {
        guard request.offer.count > Self.short else { return true }
        if waiting.isEmpty, isRoom(for: request) {
            note(request)
            return true
        }
        if waiting[request.user] == nil { users.append(request.user) }
        waiting[request.user, default: []].append(request)
        return false
    }

    /// The node has answered; returns what is offered next.
    mutating func answered(_ run: Int64) -> [RunRequest] {
        bytes -= offered.removeValue(forKey: run) ?? 0
        var next: [RunRequest] = []
        while let user = users.first, let request = waiting[user]?.first, isRoom(for: request) {
            users.removeFirst()
            waiting[user]?.removeFirst()
            if waiting[user]?.isEmpty == true { waiting[user] = nil } else { users.append(user) }
            note(request)
            next.append(request)
        }
        return next
    }

    private func isRoom(for request: RunRequest) -> Bool {
        bytes == 0 || bytes + request.offer.count <= Self.mostBytes
    }

    private mutating func note(_ request: RunRequest) {
        offered[request.run] = request.offer.count
        bytes += request.offer.count
    }
}
