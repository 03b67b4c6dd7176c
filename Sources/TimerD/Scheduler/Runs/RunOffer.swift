// SPDX-License-Identifier: Apache-2.0

import JobModel
import Runner
import Schedules
import TimerControl

/// What another node is told of a run that it is to begin: all that is the same on all hosts.
///
/// Who the user is there, where his home is, what limits and secrets the administrator of that host has set: that node finds
/// out.
struct RunOffer: Codable, Sendable {
    /// The version of this message: nodes may be of different releases.
    var version = RunOffer.currentVersion
    var job: Int64
    /// The owner's name; nil for root.
    var user: String?
    var definition: JobDefinition
    var fire: Int64
    var fireDate: Timestamp
    var firedAt: Timestamp
    var missed: Int
    var attempt: Int
    /// Which handler of the job it is, by its number; nil for the job's command.
    var handler: Int?
    var command: [String]
    /// What it finds on its standard input; nil for the job's userInfo.
    var input: String?
    /// How many bytes of each stream are kept.
    var outputKept: Int
    /// When it is ended, in µs, by the job and the defaults of the node that leads; nil for never.
    var timeout: Int64?

    static let currentVersion = 1
}

extension RunOffer {
    init(_ command: RunningCommand, _ defaults: RunDefaults) {
        let (job, fire) = (command.job, command.fire)
        self.init(
            job: job.id.rawValue,
            user: job.owner.uid == 0 ? nil : job.owner.name,
            definition: job.definition,
            fire: fire.id.rawValue,
            fireDate: fire.fireDate,
            firedAt: fire.firedAt ?? fire.fireDate,
            missed: fire.missed,
            attempt: fire.attempt,
            handler: fire.handler?.rawValue,
            command: command.command,
            input: command.input.map { String(decoding: $0, as: UTF8.self) },
            outputKept: command.output.limit,
            timeout: defaults.timeout(of: job)?.microseconds
        )
    }

    /// As the agent gets it.
    var bytes: [UInt8] {
        // try?: it is made of values that are always JSON.
        (try? JSONValue(encoding: self).jsonBytes) ?? []
    }

    /// Reads what another node has sent.
    ///
    /// - Throws: `StartRefusal` for what this release does not understand.
    init(_ bytes: some Sequence<UInt8>) throws(StartRefusal) {
        do {
            let value = try JSONValue(parsing: Array(bytes))
            if case .object(let members) = value, case .integer(let version)? = members["version"],
                version > Self.currentVersion
            {
                throw StartRefusal(
                    "it is of an older release, which does not understand what it is to run"
                )
            }
            self = try value.decoded(as: RunOffer.self)
        } catch let refusal as StartRefusal {
            throw refusal
        } catch {
            throw StartRefusal("it does not understand what it is to run: \(error)")
        }
    }

    /// The command as this node runs it, for its own user of that name.
    func command(_ run: Int64, of owner: Owner) throws(StartRefusal) -> RunningCommand {
        let policy: JobPolicy
        do throws(OptionRefusal) {
            // Dates do not matter to a run.
            policy = try JobPolicy(definition, now: fireDate, zone: .utc)
        } catch {
            throw StartRefusal("it does not understand an option of job \(job): \(error)")
        }
        let job = StoredJob(
            id: JobID(rawValue: job),
            owner: owner,
            ownerID: .nobody,
            state: .scheduled,
            clock: .wall,
            schedule: .once(fireDate),
            fires: 0,
            rowsSinceTrim: 0,
            addedAt: fireDate,
            definition: definition,
            policy: policy
        )
        var fire = CommandFire(
            id: FireID(rawValue: fire),
            job: job,
            fireDate: fireDate,
            firedAt: firedAt,
            missed: missed,
            attempt: attempt
        )
        fire.handler = handler.flatMap(RunHandler.init)
        let running = RunningCommand(
            run: RunID(rawValue: run),
            place: RunPlace(),
            fire: fire,
            command: command,
            input: input.map { Array($0.utf8) }
        )
        running.output.keep(outputKept)
        return running
    }
}
