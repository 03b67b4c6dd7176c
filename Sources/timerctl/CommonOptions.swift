// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import TimerControl

/// What every command that asks the daemon accepts.
struct CommonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon's socket.",
            discussion: """
                Default: $TIMERD_SOCKET; else a user's own, timerd/timerd.sock in $XDG_RUNTIME_DIR, \
                /run/user/UID or $XDG_STATE_HOME; else the system's, /run/timerd/timerd.sock.
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

/// One job or several: ids, or one name.
struct JobArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The ids of jobs.", valueName: "id"),
        transform: { try jobID($0) }
    )
    var ids: [JobID] = []

    @Option(help: "The name of a live job, instead of an id.")
    var name: String?

    mutating func validate() throws {
        guard ids.isEmpty != (name == nil) else {
            throw ValidationError("say which job: its id, or --name with its name")
        }
    }

    var references: [JobReference] { name.map { [.name($0)] } ?? ids.map { .id($0) } }
}

/// Jobs by ids, by one name, or by a tag that they share.
struct JobSelectionArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The ids of jobs.", valueName: "id"),
        transform: { try jobID($0) }
    )
    var ids: [JobID] = []

    @Option(help: "The name of a live job, instead of an id.")
    var name: String?

    @Option(help: "All live jobs with this tag, instead of an id.")
    var tag: String?

    @Option(
        help: ArgumentHelp(
            "All live jobs of this user, a name or a uid; for root.",
            valueName: "user"
        )
    )
    var owner: String?

    mutating func validate() throws {
        let ways = [!ids.isEmpty, name != nil, tag != nil, owner != nil]
        guard ways.filter(\.self).count == 1 else {
            throw ValidationError(
                "say which jobs: their ids, --name with a name, --tag with a tag, "
                    + "or --owner with a user"
            )
        }
    }

    /// One for each id, so that a refused one does not keep the others from being changed.
    var selections: [JobSelection] {
        if let name { return [.name(name)] }
        if let tag { return [.tag(tag)] }
        if let owner { return [.owner(owner)] }
        return ids.map { .ids([$0]) }
    }
}

/// The id in an argument.
func jobID(_ argument: String) throws -> JobID {
    guard let number = Int64(argument), number > 0 else {
        throw ValidationError(
            "'\(argument)' is no id, a number from 1; a job's name goes with --name"
        )
    }
    return JobID(rawValue: number)
}
