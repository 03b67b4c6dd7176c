// SPDX-License-Identifier: Apache-2.0

extension RequestLoad {
    /// The kinds of places; a request needs one or more places of its kind.
    package enum Kind: Int, CaseIterable, Sendable {
        /// Work of a few microseconds, and what waits for something to happen.
        case light
        /// Changes in the store's queue, one place for each job and for each eight of its tags; other changes wait for
        /// them.
        case write
        /// Single rows in the reader's queue. A node's status and metrics ask PostgreSQL for the nodes as well; else nothing
        /// that waits for something is among them, which would keep the place.
        case lookup
        /// What a runner or PostgreSQL is asked, perhaps for a minute; apart from `lookup`, so that who waits for them can
        /// still look.
        case remote
        /// Pages that are read, parsed and encoded.
        case page
        /// The same for watchers.
        case events
        /// Lines and lists that are read and checked off the loop.
        case check
        /// Lines of which a long part has come.
        case input
        /// A subscription, and a few workers of a connection that wait for tasks: nothing but memory, until they
        /// end or are answered.
        case waiting
        /// The same where it takes more than `small`: while such a one waits for its user's memory, little ones of
        /// that user pass it.
        case largeWaiting
        /// Changes of many jobs, all or nothing, and the lines that hold them: one at a time over all users.
        case bulk
        /// The look into the store for a worker that waits: a part of its request.
        case look
        /// What a run has written, as it is read and told: a part of its request.
        case output

        /// How many places there are.
        var places: Int {
            switch self {
            case .light, .input, .waiting, .largeWaiting: .max / 2
            case .write: 512
            case .look: 320
            case .lookup, .remote: 64
            case .events: 2
            case .page, .check, .bulk, .output: 1
            }
        }

        /// How many more places root and the daemon's user have.
        var reserve: Int {
            switch self {
            case .light, .input, .waiting, .largeWaiting: 0
            case .write: 64
            case .look: 32
            case .lookup, .remote: 8
            case .page, .events, .check, .bulk, .output: 1
            }
        }

        /// How many of these places a user may have; not so for root and the daemon's user.
        ///
        /// A row may have 1 MiB: where one user had all 64 places for such rows, another's `status` took 13 to 18 s in a debug
        /// build. And who keeps the lease lists nodes one by one: a thousand lists of one user would outlast it.
        var ofUser: Int { self == .lookup || self == .remote ? 8 : .max }

        /// Whether it counts among a user's requests in progress.
        var isRequest: Bool {
            switch self {
            case .light, .write, .lookup, .remote, .page, .bulk: true
            case .events, .check, .input, .waiting, .largeWaiting, .look, .output: false
            }
        }

        /// Whether it is for a part of a request in progress, which counts for its user already.
        var isPart: Bool { self == .look || self == .output }
    }
}
