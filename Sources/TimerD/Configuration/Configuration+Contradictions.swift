// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules

/// Settings that are accepted each by itself, and of which one says less than another.
extension Configuration {
    /// What becomes of settings that contradict one another, a sentence each.
    public var contradictions: [String] {
        var sentences: [String] = []
        if runsKept > maxRunsKept {
            sentences.append(
                "'maxRunsKept' is \(maxRunsKept), fewer than 'runsKept', which is \(runsKept); both are taken as \(runsKept)"
            )
        }
        if endedJobsMaxAge < eventsMaxAge {
            let (jobs, events) = (Self.words(of: endedJobsMaxAge), Self.words(of: eventsMaxAge))
            sentences.append(
                "'endedJobsMaxAge' is '\(jobs)', shorter than 'eventsMaxAge', which is '\(events)'; both are taken as "
                    + "'\(events)'"
            )
        }
        if maxConnectionsPerUser >= maxConnections {
            sentences.append(
                "'maxConnectionsPerUser' is \(maxConnectionsPerUser), not fewer than 'maxConnections', which is "
                    + "\(maxConnections); it has no effect"
            )
        }
        // Nobody has stated a default: who lowers the other one means just that.
        let standard = Configuration(database: database, socket: socket)
        if maxRunsPerUser >= maxRuns, maxRunsPerUser != standard.maxRunsPerUser {
            sentences.append(
                "'maxRunsPerUser' is \(maxRunsPerUser), not fewer than 'maxRuns', which is \(maxRuns); it has no effect"
            )
        }
        if maxInFlight > maxInFlightPerUser, maxInFlight != standard.maxInFlight {
            sentences.append(
                "'maxInFlight' is \(maxInFlight), more than 'maxInFlightPerUser', which is \(maxInFlightPerUser); it has no"
                    + " effect"
            )
        }
        if shared == nil {
            sentences += unshared.stated.map {
                "'\($0.rawValue)' is set, but 'database' is of one host; it has no effect"
            }
        }
        return sentences
    }

    /// How many descriptors the daemon has open without any client.
    private static let ownDescriptors = 32

    /// `maxConnections` and `maxConnectionsPerUser` as they are taken where the daemon may have so many descriptors.
    ///
    /// Where it has fewer for them, a user has the same share of these as of the setting: else one could have them all.
    func connections(within limit: Int) -> (all: Int, ofUser: Int) {
        // Beside those of the processes that jobs are tied to, and the daemon's.
        let rest = limit - limit / 4 - DescriptorLimit.reserve(of: limit) - Self.ownDescriptors
        let room = max(rest, 8)
        guard maxConnections > room else { return (maxConnections, maxConnectionsPerUser) }
        let share = max(room * maxConnectionsPerUser / maxConnections, 1)
        return (room, min(maxConnectionsPerUser, share))
    }

    /// Why a daemon does not start with so few descriptors; nil where it does.
    ///
    /// It would answer nobody: it has most of them open, and takes no client into its reserve.
    static func wantOfRoom(in limit: Int) -> String? {
        let least = ownDescriptors + DescriptorLimit.reserve(of: limit)
        guard limit < least else { return nil }
        return "timerd may have \(limit) descriptors (LimitNOFILE=, ulimit -n), "
            + "accepted are \(least) or more: it would refuse clients"
    }

    /// What comes of `maxConnections` where the daemon may have so many descriptors, in a sentence; nil where that is enough.
    func wantOfDescriptors(of limit: Int) -> String? {
        let taken = connections(within: limit)
        guard maxConnections > taken.all else { return nil }
        return "'maxConnections' is \(maxConnections), and timerd may have \(limit) descriptors "
            + "(LimitNOFILE=, ulimit -n): it is taken as \(taken.all), and 'maxConnectionsPerUser', which is "
            + "\(maxConnectionsPerUser), as \(taken.ofUser)"
    }

    /// The settings as the daemon goes by them.
    var corrected: Self {
        var settings = self
        // As `HistoryBound` and `Pruner` have it.
        settings.maxRunsKept = max(maxRunsKept, runsKept)
        settings.endedJobsMaxAge = max(endedJobsMaxAge, eventsMaxAge)
        return settings
    }

    /// In days: the words for a long span have months and years, which are no whole numbers of days.
    static func words(of duration: Duration) -> String {
        let days = duration.components.seconds / 86_400
        return days > 0 && duration == .seconds(86_400) * days
            ? "\(days)d" : "\(TimeSpan(duration))"
    }
}
