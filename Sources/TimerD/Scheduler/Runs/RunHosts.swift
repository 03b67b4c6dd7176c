// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Runner
import Schedules
import TimerControl

/// The hosts on which commands begin, and which of them a command gets; pure.
///
/// A daemon alone has one, its own. A fire has its host from before its row says `running` until its run is over.
struct RunHosts: Sendable {
    struct Host: Sendable {
        var standing = RunnerStanding()
        /// What a job's `on` may say to mean this host, beside its name.
        var labels: Set<String> = []
        /// How many fires have it.
        fileprivate(set) var taken = 0
        /// How many commands run at once there; nil for as many as here.
        var limit: Int?
        /// Users whom it does not know, by their names.
        var strangers: Set<String> = []
    }

    /// A host whose node has not come yet.
    private static let unknown = Host(standing: RunnerStanding(away: "its node has not come"))

    /// The name of this daemon's own; empty where there is no other.
    let own: String
    /// How many commands run at once on this host.
    var limit: Int
    private(set) var hosts: [String: Host]
    /// Whether its own host's node hands over: no command begins there any more, also where it is told to drain no more.
    private(set) var handsOver = false
    private var places: [FireID: String] = [:]
    /// Fires that no host could take as they had their turn, by what they ask for; some of them may have left,
    /// or ask for another one by now.
    private var lines: [String: Line] = [:]
    private var waiting: [FireID: String] = [:]
    /// How many fires wait for a host, by the label that they ask for; an empty one for those that may run anywhere.
    private(set) var waits: [String: Int] = [:]
    /// How many fires have left their line since all that had left were last taken out.
    private var left = 0

    /// The fires that wait for one label, each user's in their order; the users take turns.
    private struct Line {
        /// By their names, the next first.
        var users: Deque<String> = []
        var fires: [String: Deque<FireID>] = [:]
    }

    /// What a fire asks for that may run anywhere.
    static let anywhere = ""

    init(own: String?, labels: Set<String> = [], limit: Int) {
        self.own = own ?? ""
        self.limit = limit
        hosts = [self.own: Host(labels: labels)]
    }

    /// How the runner of this daemon's own host stands.
    var standing: RunnerStanding {
        get { hosts[own]?.standing ?? RunnerStanding() }
        set { hosts[own]?.standing = newValue }
    }

    /// Why no command begins on any host; nil if one may.
    var trouble: String? {
        guard let trouble = standing.trouble else { return nil }
        return hosts.values.contains { $0.standing.trouble == nil } ? nil : trouble
    }

    /// The names of the hosts that take commands now.
    var ready: Set<String> {
        Set(hosts.lazy.filter { $0.value.standing.trouble == nil }.map(\.key))
    }

    /// How many hosts take commands now; at least 1.
    var count: Int { max(hosts.values.count { $0.standing.trouble == nil }, 1) }

    /// How many commands run at once on all of them; while none takes any, as many as on this one.
    var room: Int {
        let ready = hosts.values.filter { $0.standing.trouble == nil }
        return ready.isEmpty ? limit : ready.reduce(0) { $0 + ($1.limit ?? limit) }
    }

    /// Whether a host has no room for more runs.
    func isFull(_ host: String) -> Bool { hosts[host]?.standing.isFull == true }

    /// How many fires a host has.
    func taken(on host: String) -> Int { hosts[host]?.taken ?? 0 }

    /// What is stored of a run that begins there now.
    func place(on host: String) -> RunPlace {
        RunPlace(node: own.isEmpty ? nil : host, runner: hosts[host]?.standing.epoch)
    }

    // MARK: - Who comes and goes

    mutating func join(_ name: String, labels: Set<String>) {
        hosts[name, default: Self.unknown].labels = labels
        hosts[name]?.strangers = []
    }

    /// Notes how a host's runner has changed; returns whether that is news.
    @discardableResult
    mutating func take(_ change: RunnerChange, of host: String, at now: Timestamp) -> Bool {
        if case .limit(let limit) = change { hosts[host, default: Self.unknown].limit = limit }
        return hosts[host, default: Self.unknown].standing.take(change, at: now)
    }

    /// Has commands begin on a host no more, or again.
    mutating func drain(_ host: String, _ drains: Bool, at now: Timestamp) {
        guard drains || host != own || !handsOver else { return }
        hosts[host]?.standing.drain(drains, at: now)
    }

    /// Has no command begin on this host any more.
    mutating func handOver(at now: Timestamp) {
        handsOver = true
        drain(own, true, at: now)
    }

    /// A host does not know that user: his commands go elsewhere from here on, until it comes again.
    mutating func noteStranger(_ user: String, on host: String) {
        hosts[host]?.strangers.insert(user)
    }

    /// Whether this host does not know a user who had a command for it.
    var hasStrangers: Bool { hosts[own]?.strangers.isEmpty == false }

    /// Has this host take the commands again of users whom it did not know; returns whether there were any.
    mutating func forgetStrangers() -> Bool {
        defer { hosts[own]?.strangers = [] }
        return hasStrangers
    }

    // MARK: - Places

    /// Whether a host may take the fire now.
    func mayTake(_ fire: CommandFire) -> Bool {
        places[fire.id] != nil || hosts.contains { mayTake(fire, $0.key, $0.value) }
    }

    /// Gives the fire the host with the fewest commands of those that may take it, this one first; nil where none may.
    mutating func enter(_ fire: CommandFire) -> RunPlace? {
        if let host = places[fire.id] { return place(on: host) }
        let candidates = hosts.filter { mayTake(fire, $0.key, $0.value) }
        let best = candidates.min { one, other in
            (one.value.taken, one.key == own ? 0 : 1, one.key)
                < (other.value.taken, other.key == own ? 0 : 1, other.key)
        }
        guard let best else { return nil }
        enterRunning(fire.id, on: best.key)
        return place(on: best.key)
    }

    /// Notes that a fire has that host already, as its run is in progress there.
    mutating func enterRunning(_ fire: FireID, on host: String) {
        guard places[fire] == nil else { return }
        endWait(of: fire)
        places[fire] = host
        hosts[host, default: Self.unknown].taken += 1
    }

    /// Has the fire wait for a host that may take it.
    mutating func wait(_ fire: CommandFire) {
        let wish = fire.job.policy.run.on ?? Self.anywhere
        guard waiting[fire.id] == nil else { return }
        waiting[fire.id] = wish
        waits[wish, default: 0] += 1
        let user = fire.job.owner.name
        if lines[wish]?.fires[user] == nil { lines[wish, default: Line()].users.append(user) }
        lines[wish]?.fires[user, default: []].append(fire.id)
    }

    /// Gives back the fire's host, or has it wait no more; returns a fire that has waited for such a host.
    mutating func leave(_ fire: FireID) -> FireID? {
        leaveLine(fire)
        guard let name = places.removeValue(forKey: fire) else { return nil }
        hosts[name]?.taken -= 1
        guard let host = hosts[name], host.standing.trouble == nil, !waiting.isEmpty else {
            return nil
        }
        for wish in host.labels.sorted() + [name, Self.anywhere] {
            if let next = takeFirst(of: wish, for: host) { return next }
        }
        return nil
    }

    /// Has the fire wait for a host no more; one that has a host keeps it.
    mutating func leaveLine(_ fire: FireID) {
        if endWait(of: fire) { noteLeft() }
    }

    /// Takes all fires that wait for a host, by their age.
    mutating func takeWaiting() -> [FireID] {
        defer { (lines, waiting, waits) = ([:], [:], [:]) }
        return waiting.keys.sorted()
    }

    /// Returns whether it waited.
    @discardableResult
    private mutating func endWait(of fire: FireID) -> Bool {
        guard let wish = waiting.removeValue(forKey: fire) else { return false }
        waits[wish, default: 1] -= 1
        if waits[wish] == 0 { waits[wish] = nil }
        return true
    }

    static func isMeant(_ name: String, _ host: Host, by label: String) -> Bool {
        label == name || host.labels.contains(label)
    }

    /// Removes those that have left from the lines once they are more than those that wait, so that a leave costs O(1) on average.
    private mutating func noteLeft() {
        left += 1
        guard left > waiting.count + 16 else { return }
        left = 0
        for (wish, var line) in lines {
            line.fires = line.fires.compactMapValues { fires in
                let rest = fires.filter { waiting[$0] == wish }
                return rest.isEmpty ? nil : rest
            }
            line.users.removeAll { line.fires[$0] == nil }
            lines[wish] = line.users.isEmpty ? nil : line
        }
    }

    private mutating func takeFirst(of wish: String, for host: Host) -> FireID? {
        guard var line = lines.removeValue(forKey: wish) else { return nil }
        defer { if !line.users.isEmpty { lines[wish] = line } }
        for _ in 0..<line.users.count {
            guard let user = line.users.popFirst() else { break }
            guard !host.strangers.contains(user) else {
                line.users.append(user)
                continue
            }
            var fires = line.fires.removeValue(forKey: user) ?? []
            var next = fires.popFirst()
            while let fire = next, waiting[fire] != wish { next = fires.popFirst() }
            if !fires.isEmpty {
                line.users.append(user)
                line.fires[user] = fires
            }
            guard let next else { continue }
            endWait(of: next)
            return next
        }
        return nil
    }

    private func mayTake(_ fire: CommandFire, _ name: String, _ host: Host) -> Bool {
        guard host.standing.trouble == nil, hosts.count == 1 || host.taken < host.limit ?? limit,
            !host.strangers.contains(fire.job.owner.name)
        else { return false }
        // A daemon alone has found such a job in a backup of several hosts.
        guard !own.isEmpty, let label = fire.job.policy.run.on else { return true }
        return Self.isMeant(name, host, by: label)
    }
}
