// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import TimerControl
import TimerWords

/// The caller's jobs with a label, as the daemon has them.
struct AppliedJobs {
    let daemon: Daemon
    let label: String

    /// Compares the daemon's jobs with those that the files declare.
    func plan(_ files: JobFiles, adopts: Bool) async throws(Failure) -> ApplyPlan {
        do throws(Failure) {
            let labelled = try await Self.own(daemon, tag: Label.tag(label), all: true)
            let known = Set(
                labelled.lazy.filter(\.state.isLive).compactMap(\.definition.name)
                    .map { ByteText($0) }
            )
            let named = try await daemon.jobs(
                named: files.jobs.lazy.map(\.name).filter { !known.contains(ByteText($0)) }
            )
            return ApplyPlan(
                files,
                labelled: labelled,
                named: named,
                adopts: adopts,
                now: .now,
                zone: .local
            )
        } catch {
            throw error.aheadOfChange
        }
    }

    /// The caller's own jobs, picked out because an administrator is shown everybody's.
    static func own(_ daemon: Daemon, tag: String?, all: Bool) async throws(Failure) -> [Job] {
        var filter = ListJobs()
        filter.tag = tag
        filter.all = all ? true : nil
        filter.limit = Limits.page
        var jobs: [Job] = []
        let names = ownNames
        repeat {
            let page = try await daemon.ask(.listJobs(filter), for: JobsReply.self).value
            jobs += page.jobs.filter { names.contains(ByteText($0.owner)) }
            filter.cursor = page.cursor
        } while filter.cursor != nil
        return jobs
    }

    /// What the daemon may call the caller: the user name, and the uid.
    private static var ownNames: Set<ByteText> {
        let user = LocalUser.current
        return [ByteText(user.name), ByteText("\(user.uid)")]
    }

    /// What has become of a plan.
    struct Outcome {
        /// Each job as a line of JSON.
        var lines = ""
        /// The jobs that were there by the key of an addition, by the addition's place in the plan.
        var existing: [Int: JobID] = [:]
        /// What the daemon has to say of it.
        var notes: [String] = []
    }

    /// Has the daemon do the plan, all of it or nothing.
    ///
    /// - Throws: what the daemon refuses, with the place in the file.
    func send(
        _ parts: [ApplyPart],
        dryRun: Bool,
        _ progress: Progress
    ) async throws -> Outcome {
        switch parts.count {
        case 0: return Outcome()
        case 1:
            let outcome = try await send(parts[0], dryRun: dryRun)
            progress.advance(by: parts[0].count)
            return outcome
        default:
            let upload = try JobUpload(parts.map(\.request), to: daemon)
            do throws(Failure) {
                try await upload.send(progress) { parts[$0].placed($1) }
            } catch {
                throw error.aheadOfChange
            }
            let whole = ApplyPart.joined(parts)
            let reply = try await upload.apply(dryRun: dryRun) { whole.placed($0) }
            let existing = Set(reply.existing ?? [])
            return Outcome(
                lines: lines("invalidated", reply.invalidated) + lines("changed", reply.changed)
                    + lines("added", reply.added.filter { !existing.contains($0) }),
                existing: Self.places(of: existing, in: reply.added),
                notes: reply.notes ?? []
            )
        }
    }

    private func send(_ part: ApplyPart, dryRun: Bool) async throws(Failure) -> Outcome {
        var request = part.request
        request.dryRun = dryRun
        let answer: Answer<ApplyReply>
        do {
            let json = try await daemon.client.call(.applyJobs(request), as: JSONValue.self)
            answer = Answer(value: try json.decoded(), json: json)
        } catch let error as ControlError {
            throw Failure(ControlError(error.reason, part.placed(error.message)))
        } catch {
            let failure = Failure(answering: error, to: dryRun ? nil : .applyJobs)
            throw dryRun ? failure.aheadOfChange : failure
        }
        let existing = Set(answer.value.existing ?? [])
        var added = answer.json["added"]
        if case .array(let jobs)? = added {
            let isNew = answer.value.added.map { !existing.contains($0.id) }
            added = .array(zip(jobs, isNew).filter(\.1).map(\.0))
        }
        return Outcome(
            lines: lines("invalidated", answer.json["invalidated"])
                + lines("invalidated", answer.json["others"]) { .object(["id": $0]) }
                + lines("changed", answer.json["changed"]) + lines("added", added),
            existing: Self.places(of: existing, in: answer.value.added.map(\.id)),
            notes: answer.value.notes ?? []
        )
    }

    private static func places(of existing: Set<JobID>, in added: [JobID]) -> [Int: JobID] {
        Dictionary(
            uniqueKeysWithValues: added.enumerated().filter { existing.contains($1) }
                .map { ($0, $1) }
        )
    }

    /// Takes out of the plan what is not added because a job has its key.
    ///
    /// - Throws: what the daemon answers for one of those jobs.
    func leaveOut(_ existing: [Int: JobID], of plan: inout ApplyPlan) async throws(Failure) {
        for (index, id) in existing.sorted(by: { $0.key > $1.key }) {
            let job = try await daemon.ask(.getJob(.id(id)), for: JobReply.self).value.job
            plan.leaveOut(index, for: job)
        }
    }

    private func lines(
        _ action: String,
        _ jobs: JSONValue?,
        _ job: (JSONValue) -> JSONValue = { $0 }
    ) -> String {
        guard case .array(let jobs) = jobs else { return "" }
        return jobs.map {
            JSONValue.object(["action": .string(action), "job": job($0)]).jsonLine
        }.joined()
    }

    /// The same of jobs of which the ids alone are told.
    private func lines(_ action: String, _ ids: [JobID]) -> String {
        lines(action, .array(ids.map { .object(["id": .integer($0.rawValue)]) }))
    }
}
