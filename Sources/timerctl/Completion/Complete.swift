// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Schedules
import TimerControl
import TimerWords

/// `timerctl complete`: what the completions of shells ask for, a word a line.
struct Complete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "complete",
        abstract: "Print the words that shells complete: jobs, tags, zones, queues, nodes, hosts.",
        shouldDisplay: false
    )

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        /// Names and ids, also of ended jobs.
        case jobs
        case tags
        case zones
        case queues
        case nodes
        /// What a job may have in `on`: the names and labels of nodes.
        case hosts
    }

    @Argument(help: "jobs, tags, zones, queues, nodes, hosts.")
    var kind: Kind

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let words =
            switch kind {
            case .zones: try Self.zones()
            case .queues: try await queues()
            case .nodes, .hosts:
                Self.words(
                    kind,
                    of: try await Daemon.ask(common, .listNodes, for: NodesReply.self).value.nodes
                )
            case .jobs, .tags:
                Self.words(kind, of: try await jobs(), for: LocalUser.current.name)
            }
        try Output.write(Self.offered(words).map { $0 + "\n" }.joined())
    }

    /// Whose words are asked for, a page of each: an administrator's own first, for which others could leave no room.
    ///
    /// By the number: the daemon may call the user otherwise, as from within a container.
    private static var owners: [String?] { ["\(geteuid())", nil] }

    /// Those that fire next: the shell asks at each press of Tab.
    private func jobs() async throws -> [Job] {
        let daemon = try await Daemon.connect(common)
        var request = ListJobs()
        (request.all, request.order) = (true, .nextFire)
        var jobs: [Job] = []
        for owner in Self.owners {
            request.owner = owner
            jobs += try await daemon.jobs(request, atMost: Limits.page)
        }
        return jobs
    }

    /// A user has 1,000 at most.
    private func queues() async throws -> [String] {
        let daemon = try await Daemon.connect(common)
        var queues: [String] = []
        for owner in Self.owners {
            var request = ListQueues(owner: owner)
            request.limit = Limits.page
            let page = try await daemon.ask(.listQueues(request), for: QueuesReply.self).value
            queues += page.queues.map(\.queue)
        }
        return queues
    }

    /// Names are the user's own, for another's job goes by its id.
    static func words(_ kind: Kind, of jobs: [Job], for user: String) -> [String] {
        kind == .tags
            ? jobs.flatMap { $0.definition.tags ?? [] }
            : jobs.filter { $0.owner == user }.compactMap(\.definition.name)
                + jobs.map { "\($0.id)" }
    }

    /// The names of nodes; of hosts also their labels.
    static func words(_ kind: Kind, of nodes: [NodeView]) -> [String] {
        nodes.map(\.name) + (kind == .hosts ? nodes.flatMap(\.labels) : [])
    }

    /// Each once, and of all kinds those alone that a shell reads as they are: bash expands what it is offered, and
    /// other users chose many of the words that root sees.
    static func offered(_ words: [String]) -> [String] {
        var seen: Set<String> = []
        return words.filter { isPlain($0) && seen.insert($0).inserted }
    }

    /// Whether a shell reads it as it is, and timerctl takes it for no option.
    private static func isPlain(_ word: String) -> Bool {
        ShellWords.quoted(word) == word && word.unicodeScalars.first != "-"
    }

    /// The names in the database of zones, which lists them in one file.
    private static func zones() throws(Failure) -> [String] {
        let file = Zone.databaseFolder + "/tzdata.zi"
        return zones(in: String(decoding: try InputFile.bytes(of: file), as: UTF8.self))
    }

    /// The zones ("Z Europe/Berlin ...") and the other names of zones ("L Europe/Berlin Arctic/Longyearbyen").
    static func zones(in text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            return switch words.first {
            case "Z" where words.count > 1: String(words[1])
            case "L" where words.count > 2: String(words[2])
            default: nil
            }
        }
    }
}

extension CompletionKind {
    /// Asked for when the user presses Tab: the daemon knows them.
    static let jobs = shellCommand("timerctl complete jobs 2>/dev/null")
    static let tags = shellCommand("timerctl complete tags 2>/dev/null")
    static let zones = shellCommand("timerctl complete zones 2>/dev/null")
    static let hosts = shellCommand("timerctl complete hosts 2>/dev/null")
}
