// SPDX-License-Identifier: Apache-2.0

import Platform
import Schedules
import TimerControl
import TimerWords

/// A change that is more than one request holds: its parts are sent one after another, then done as one.
///
/// The daemon keeps what has come for a day, under a name that the same parts have again: the same command after
/// a broken connection goes on where that one ended.
struct JobUpload {
    let daemon: Daemon
    let name: String
    private let parts: [ApplyJobs]

    init(_ parts: [ApplyJobs], to daemon: Daemon) throws {
        self.daemon = daemon
        self.parts = parts
        var digest = FNV1a()
        for part in parts { digest.add(try Request.applyJobs(part).line(id: nil)) }
        name = Self.prefix + String(digest.hash, radix: 16)
    }

    /// What the names of all uploads of this program begin with; others are their makers' own.
    private static let prefix = "timerctl-"

    /// From what age on an upload makes room for others.
    ///
    /// A command may be at it still, as a busy daemon checks a part a minute: that one hears so at its end.
    private static let longest = TimeSpan.seconds(3600)

    /// The uploads beside `name` that commands of this program have begun: those that have been there for an hour, and
    /// how many others.
    ///
    /// A command that was broken off, and is not given again as it was, leaves parts behind that would take of the
    /// room of its user's uploads for a day.
    static func others(
        of uploads: [Upload],
        beside name: String,
        now: Timestamp
    ) -> (abandoned: [String], fresh: Int) {
        let others = uploads.filter { $0.name.hasPrefix(prefix) && $0.name != name }
        // Each is kept for a day from its oldest part.
        let abandoned = others.filter { $0.until < now + .seconds(86_400) - longest }
        return (abandoned.map(\.name), others.count - abandoned.count)
    }

    /// Sends the parts that the daemon does not have yet; what earlier commands have left behind goes first.
    ///
    /// `progress` counts the jobs. `placed`: the daemon's message on a part, with the place in the source.
    /// - Throws: what the daemon refuses; then it keeps none of them.
    func send(
        _ progress: Progress,
        placed: (_ part: Int, _ message: String) -> String
    ) async throws(Failure) {
        let uploads = try await daemon.ask(.listUploads, for: UploadsReply.self).value.uploads
        let others = Self.others(of: uploads, beside: name, now: .now)
        for other in others.abandoned {
            // try?: another command may have dropped it, and what stays goes in a day.
            _ = try? await daemon.ask(.dropUpload(other), for: UploadReply.self)
        }
        let known = Set(uploads.first { $0.name == name }?.parts ?? [])
        for (index, jobs) in parts.enumerated() {
            if !known.contains(index) {
                let part = PutPart(upload: name, part: index, jobs: jobs)
                try await asking { message in
                    Self.telling(others: others.fresh, placed(index, message))
                } body: { () throws(Failure) in
                    _ = try await daemon.ask(.putPart(part), for: UploadReply.self)
                }
            }
            progress.advance(by: jobs.count)
        }
    }

    /// A refusal of a part; where it is for want of room, also what becomes of the `others` that take it.
    static func telling(others: Int, _ refusal: String) -> String {
        // The daemon names that request in no other refusal of a part.
        guard others > 0, refusal.contains("'upload.drop'") else { return refusal }
        return
            "\(refusal); other commands of timerctl have begun \(others) of them: one that was broken off goes on "
            + "where it is given again as it was, and else makes room an hour after it began"
    }

    /// Does all of it or nothing; a trial keeps nothing of the parts either.
    ///
    /// - Throws: what the daemon refuses; with the conflict `taken` where another command that sends the same parts,
    ///   which have one name, has applied or dropped them, or any other has dropped them to make room.
    func apply(
        dryRun: Bool = false,
        ifNoNewer: NewestTagged? = nil,
        placed: (String) -> String
    ) async throws(Failure) -> UploadedReply {
        let whole = ApplyJobs(ifNoNewer: ifNoNewer, dryRun: dryRun, upload: name)
        let request = Request.applyJobs(whole)
        do throws(Failure) {
            return try await asking(placed) { () throws(Failure) in
                let reply = try await daemon.ask(request, for: UploadedReply.self).value
                // try?: another command that tries the same may have dropped it, and what stays goes in a day.
                if dryRun { _ = try? await daemon.ask(.dropUpload(name), for: UploadReply.self) }
                return reply
            }
        } catch {
            // The daemon names the upload in no other refusal.
            guard error.isRefusal, error.message.contains("upload '\(name)'") else {
                throw dryRun ? error.aheadOfChange : error
            }
            var taken = error.saying(
                "another command that sent the same has applied it, or taken it back, meanwhile, or another command of "
                    + "yours made room; nothing of this one was done, give it again"
            )
            taken.conflict = .taken
            throw taken
        }
    }

    /// What is refused would be refused again: its parts go.
    private func asking<Value>(
        _ placed: (String) -> String,
        body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        do {
            return try await body()
        } catch {
            guard error.isRefusal else { throw error }
            // try?: there may be none yet, and what stays goes in a day.
            _ = try? await daemon.ask(.dropUpload(name), for: UploadReply.self)
            throw error.saying(placed(error.message))
        }
    }
}
