// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl
import TimerWords

/// What every command that asks the daemon accepts.
struct CommonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon's socket.",
            discussion: """
                Default: $TIMERD_SOCKET; else a user's own, timerd/timerd.sock in $XDG_RUNTIME_DIR, \
                else in /run/user/UID, else in $XDG_STATE_HOME; where there is none, the system's, \
                /run/timerd/timerd.sock.
                """,
            valueName: "path"
        ),
        completion: .file()
    )
    var socket: String?

    @Flag(help: "Print the wire's JSON objects, one a line, as they came.")
    var json = false

    /// The socket to connect to: the option's, else the environment's, else the default.
    var socketPath: String {
        if let socket { return socket }
        if let path = getenv("TIMERD_SOCKET"), path.pointee != 0 { return String(cString: path) }
        return DefaultPaths.current.clientSocket { access($0, F_OK) == 0 }
    }
}

/// One job or several: ids and names.
struct JobArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The ids or names of jobs.", valueName: "job"),
        completion: .jobs,
        transform: { try jobReference($0) }
    )
    var jobs: [JobReference] = []

    @Option(help: "The name of a job, also of one that looks like an id.", completion: .jobs)
    var name: String?

    mutating func validate() throws {
        guard jobs.isEmpty != (name == nil) else {
            throw ValidationError("say which job: its id or its name")
        }
    }

    var references: [JobReference] { name.map { [.name($0)] } ?? jobs }
}

/// Jobs by ids and names, or by a tag or an owner that they share.
struct JobSelectionArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The ids or names of jobs.", valueName: "job"),
        completion: .jobs,
        transform: { try jobReference($0) }
    )
    var jobs: [JobReference] = []

    @Option(help: "The name of a live job, also of one that looks like an id.", completion: .jobs)
    var name: String?

    @Option(help: "All live jobs with this tag.", completion: .tags)
    var tag: String?

    @Option(
        help: ArgumentHelp(
            "All live jobs of this user, a name or a uid; for root.",
            valueName: "user"
        )
    )
    var owner: String?

    mutating func validate() throws {
        let ways = [!jobs.isEmpty, name != nil, tag != nil, owner != nil].filter(\.self).count
        if ways > 1 {
            let one =
                owner.map { owner in
                    let list = ShellWords.command(["timerctl", "list", "--owner", owner])
                    return "; a job of another user goes by its id, which \(list) shows"
                } ?? ""
            throw ValidationError("jobs, --name, --tag and --owner exclude each other\(one)")
        }
        guard ways == 1 else {
            throw ValidationError(
                "say which jobs: their ids or names, --tag with a tag, or --owner with a user"
            )
        }
    }

    /// All of them in one request, which changes all or none; nil where names have to be looked up first.
    var selection: JobSelection? {
        if let name { return .name(name) }
        if let tag { return .tag(tag) }
        if let owner { return .owner(owner) }
        if jobs.count == 1, case .name(let name) = jobs[0] { return .name(name) }
        let ids = jobs.compactMap(\.id)
        return ids.count == jobs.count ? .ids(ids) : nil
    }
}

extension JobReference {
    var id: JobID? {
        guard case .id(let id) = self else { return nil }
        return id
    }

    /// As it is typed.
    var word: String {
        switch self {
        case .id(let id): "\(id)"
        case .name(let name): name
        }
    }

    /// "job 2", "job 'backup'".
    var title: String {
        switch self {
        case .id(let id): "job \(id)"
        case .name(let name): "job '\(Printable.escaped(name))'"
        }
    }
}

/// The job in an argument: digits are an id, all else is a name.
func jobReference(_ argument: String) throws -> JobReference {
    guard argument.allSatisfy({ $0.isASCII && $0.isNumber }) else {
        return .name(argument)
    }
    guard let number = Int64(argument), number > 0 else {
        throw ValidationError(
            "'\(argument)' is neither an id, a number from 1, nor a name; a name of digits goes "
                + "with --name"
        )
    }
    return .id(JobID(rawValue: number))
}
