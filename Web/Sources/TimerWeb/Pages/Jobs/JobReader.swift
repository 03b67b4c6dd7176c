// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerWords

/// Reads the jobs that a query means.
struct JobReader: Sendable {
    let client: ControlClient
    let query: JobQuery

    /// Some of them, and where the next ones begin.
    struct Part: Sendable {
        var jobs: [Job]
        /// Which of them the first is, from 1; nil where nobody has counted.
        var first: Int?
        /// How many there are in all; nil where nobody has counted.
        var total: Int?
        /// For the address of the next part; nil for the last one.
        var cursor: String?
        /// Whether there are more jobs than were looked at.
        var isCut = false
    }

    /// Jobs that one request looks at; who has more finds the first of them.
    static let most = 20_000
    static let rows = 100

    func part(at cursor: String?) async throws -> Part {
        guard query.mistakes.isEmpty else { return Part(jobs: [], total: 0) }
        guard query.isDirect else { return try await found(behind: cursor.flatMap(JobPlace.init)) }
        var request = query.request
        request.limit = Self.rows
        let (jobs, next) = try await ListReader.rows(from: cursor.flatMap(Self.decoded)) { start in
            request.cursor = start
            let reply = try await client.listJobs(request)
            return (reply.jobs, reply.cursor)
        }
        let isAll = cursor == nil && next == nil
        return Part(
            jobs: jobs,
            first: cursor == nil ? 1 : nil,
            total: isAll ? jobs.count : nil,
            cursor: next.flatMap(Self.encoded)
        )
    }

    /// By the last job that was shown, and not by how many were: one that ends meanwhile would take another one with it.
    private func found(behind last: JobPlace?) async throws -> Part {
        let (all, isCut) = try await found()
        let start =
            last.map { last in
                all.firstIndex { query.areInOrder(last, query.place(of: $0)) } ?? all.count
            } ?? 0
        let end = min(start + Self.rows, all.count)
        return Part(
            jobs: try await withLast(all[start..<end]),
            first: start + 1,
            total: all.count,
            cursor: end < all.count ? query.place(of: all[end - 1]).text : nil,
            isCut: isCut
        )
    }

    /// The jobs with what became of their last dates, where that was not asked for with all of them.
    private func withLast(_ jobs: ArraySlice<Job>) async throws -> [Job] {
        guard query.request.last != true else { return Array(jobs) }
        return try await withThrowingTaskGroup { group in
            for (index, job) in jobs.enumerated() {
                group.addTask {
                    // What is claimed ahead of its date is listed first.
                    let runs = try await NewestRuns(of: job.id, atMost: 3, at: .now, client)
                    var job = job
                    job.last = runs.come.first { $0.state != .claimed }
                    return (index, job)
                }
            }
            var all = Array(jobs)
            for try await (index, job) in group { all[index] = job }
            return all
        }
    }

    /// All that match, in order.
    ///
    /// - Throws: `ControlError` `limitReached` where there are more jobs than are looked at: some that match would
    ///   be left out.
    func all() async throws -> [Job] {
        if let mistake = query.mistakes.first { throw ControlError(.invalidParams, mistake) }
        let (jobs, isCut) = try await found()
        guard !isCut else {
            throw ControlError(
                .limitReached,
                "there are more than \(Self.most.grouped) jobs to look through for all that match; "
                    + "a tag, an owner or a state makes them fewer"
            )
        }
        return jobs
    }

    private func found() async throws -> (jobs: [Job], isCut: Bool) {
        var request = query.request
        request.limit = 1000
        var all: [Job] = []
        var looked = 0
        repeat {
            let reply = try await client.listJobs(request)
            looked += reply.jobs.count
            all += reply.jobs.filter(query.matches)
            request.cursor = reply.cursor
        } while request.cursor != nil && looked < Self.most
        let placed = all.map { (job: $0, place: query.place(of: $0)) }
            .sorted { query.areInOrder($0.place, $1.place) }
        return (placed.map(\.job), request.cursor != nil)
    }

    private static func encoded(_ cursor: JobCursor) -> String? {
        // try?: a cursor of the daemon is JSON; without it there would be no next page.
        (try? JSONText(encoding: cursor))?.text
    }

    /// Whether an address has a cursor of such a list.
    static func isCursor(_ text: String, isDirect: Bool) -> Bool {
        isDirect ? decoded(text) != nil : JobPlace(text) != nil
    }

    private static func decoded(_ text: String) -> JobCursor? {
        // try?: what somebody wrote into the address by hand is told by the query.
        try? JSONText(parsing: text).decoded()
    }
}
