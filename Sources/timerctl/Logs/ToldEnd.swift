// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// How a run ended that is no longer kept, as its event tells: events are kept apart from runs.
enum ToldEnd {
    /// How long the event is looked for among all that are kept of the job.
    private static let limit = Duration.seconds(5)

    /// The run with what is told of its end; nil where nothing is.
    static func find(_ run: Run, _ common: CommonOptions) async throws(Failure) -> Run? {
        let client = try await Daemon.connect(common).client
        var request = Subscribe()
        (request.since, request.types, request.jobs) = (0, [.runFinished], [run.job])
        do {
            try await client.subscribe(request)
        } catch {
            throw Failure(answering: error)
        }
        let found: Run? = await within(limit) { [id = run.id] in
            // try?: where the daemon goes away meanwhile, nothing is told.
            try? await end(of: id, client)
        }
        await client.close()
        return found
    }

    private static func end(of run: RunID?, _ client: ControlClient) async throws -> Run? {
        for try await event in client.events where event.run == run {
            return Run(endToldBy: event)
        }
        return nil
    }
}
