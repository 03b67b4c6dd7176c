// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// How the program ends: 0, 1, and sysexits(3) for the rest.
enum ExitStatus: Int32 {
    /// The daemon refused.
    case refused = 1
    case usage = 64
    /// A file, or standard input, or a text in an option, is not what it should be.
    case badData = 65
    /// There is no daemon, or it went away.
    case unavailable = 69
    case inputOutput = 74
    /// How what was waited for has ended is not known.
    case unknownEnd = 75
    /// The other end does not speak the protocol.
    case protocolBroken = 76
    case notPermitted = 77
}

/// The error that ends a command.
struct Failure: Error, Hashable {
    var status: ExitStatus
    /// One line: lower case, no full stop.
    var message: String
    /// Whether the daemon refused a value, as it would again; and not for how it stands now.
    var isOfValue = false
    /// Whether that value is a schedule or a date, which the daemon's message quotes, and names no parameter.
    var isOfSchedule = false
    /// Whether the daemon refused it as it stops, or as its node leads no more: the next one may not.
    var isStopping = false
    /// What another request has done meanwhile, for which the daemon refused it; nil for any other failure.
    var conflict: Conflict?

    enum Conflict {
        /// The jobs do not allow it: unless they are others now, the same is refused again.
        case jobs
        /// A name, or the parts of an upload, were another's first: the next attempt has its own.
        case taken
    }

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// The same failure in other words.
    func saying(_ message: String) -> Self {
        var failure = self
        failure.message = message
        return failure
    }

    private static func localized(_ message: String) -> String {
        LocalDate(now: .now, zone: .local).localized(message)
    }

    /// How often a command begins anew on a conflict: of those that are at it at once one gets through each time.
    static let attempts = 10

    /// Whether the daemon refused this request; it may accept another.
    var isRefusal: Bool { status == .refused || status == .notPermitted }

    /// The failure for an error that a request has thrown; where the answer has not come, it says what that may have done.
    init(answering error: any Error, to request: Request.Method? = nil) {
        switch error {
        case let error as Failure: self = error
        case let error as ControlError: self.init(error)
        case let error as ClientError: self.init(error)
        default: self.init(.protocolBroken, "the daemon's answer cannot be read: \(error)")
        }
        // Parts that are kept, or go, change no job.
        guard let request, !request.changesNothing, ![.putPart, .dropUpload].contains(request),
            status == .unavailable, !(error is ControlError)
        else { return }
        message += "; '\(request.rawValue)' may have been carried out nevertheless"
    }

    /// The same of a command that had not asked for its change yet.
    var aheadOfChange: Self {
        let words = "nothing was changed"
        guard status == .unavailable, !message.contains(words) else { return self }
        return Self(status, "\(message); \(words)")
    }

    init(_ error: ClientError) {
        switch error.reason {
        case .noDaemon:
            self.init(
                .unavailable,
                "\(error.message); start timerd, or say where it is with --socket"
            )
        case .notPermitted: self.init(.notPermitted, error.message)
        case .disconnected, .closed: self.init(.unavailable, error.message)
        case .badReply: self.init(.protocolBroken, error.message)
        }
    }

    /// Of no daemon at the socket of a service, which may say why; `own`: where another of the user's would be.
    init(_ error: ClientError, service: ServiceState?, own: String?) {
        guard let service else {
            self.init(error)
            return
        }
        let none = own.map { "; there is none of your own at '\($0)' either" } ?? ""
        self.init(.unavailable, "\(error.message): \(service.sentence)\(none)")
    }

    init(_ error: ControlError) {
        let status: ExitStatus =
            switch error.reason {
            case .notPermitted: .notPermitted
            case .stopping: .unavailable
            default: .refused
            }
        // The dates of these refusals are the daemon's own; others quote what was said, and a name may look like a date.
        let tellsDates = error.reason == .badSchedule || error.reason == .conflict
        self.init(status, tellsDates ? Self.localized(error.message) : error.message)
        conflict =
            switch error.reason {
            case .conflict: .jobs
            case .nameTaken: .taken
            default: nil
            }
        isStopping = error.reason == .stopping
        isOfSchedule = error.reason == .badSchedule
        isOfValue = isOfSchedule || error.reason == .invalidParams
    }

    /// Of words of the command line: those of a file have their place there, and are bad data.
    init(_ error: ScheduleError) {
        self.init(.usage, error.message)
    }
}

extension Request {
    /// Whether it is only tried.
    var isTrial: Bool { if case .applyJobs(let jobs) = self { jobs.dryRun == true } else { false } }
}
