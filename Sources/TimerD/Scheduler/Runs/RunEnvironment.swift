// SPDX-License-Identifier: Apache-2.0

import JobModel
import Runner

/// What a run tells its command about itself; dates are RFC 3339 in UTC.
struct RunEnvironment: Sendable {
    var job: String
    /// Empty for a job without a name.
    var jobName: String
    var fire: String
    var run: String
    /// From 1.
    var attempt: Int
    var fireDate: String
    var firedAt: String
    /// How many missed dates the fire stands for.
    var missed: Int
    /// The path of the control socket.
    var socket: String

    /// Where commands are looked up unless the job says otherwise.
    static let path = PlainPath.folders

    /// The complete environment of the run, with nothing of the daemon's; `jobEnvironment` wins.
    func variables(owner: Account, jobEnvironment: [String: String]) -> [String: String] {
        let own = [
            "HOME": owner.home,
            "LOGNAME": owner.name,
            "PATH": Self.path,
            "SHELL": owner.shell,
            "TIMERD_ATTEMPT": String(attempt),
            "TIMERD_FIRED_AT": firedAt,
            "TIMERD_FIRE_DATE": fireDate,
            "TIMERD_FIRE_ID": fire,
            "TIMERD_JOB_ID": job,
            "TIMERD_JOB_NAME": jobName,
            "TIMERD_MISSED": String(missed),
            "TIMERD_RUN_ID": run,
            "TIMERD_SOCKET": socket,
            "USER": owner.name,
        ]
        return own.merging(jobEnvironment) { _, job in job }
    }
}
