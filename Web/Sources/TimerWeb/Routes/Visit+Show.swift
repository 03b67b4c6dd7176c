// SPDX-License-Identifier: Apache-2.0

import HTML
import TimerControl
import TimerWords

extension Visit {
    /// Answers what was asked for by a link.
    ///
    /// `since`: the number of the last event that the browser has seen, where it says so.
    func show(_ route: Route, since: String?) async throws -> Answer {
        switch route {
        case .now: try await page { try await NowPage(self, $0) }
        case .jobs: try await page { try await JobsPage(self, $0) }
        case .job(let id): try await page { try await JobPage(id, self, $0) }
        case .runs: try await page { try await RunsPage(self, $0) }
        case .run(let id): try await page { try await RunPage(id, self, $0) }
        case .output(let id): try stream(OutputFile(run: id, visit: self))
        case .outputStream(let id): try stream(OutputStream(run: id, visit: self, since: since))
        case .events: try stream(DaemonEventStream(visit: self, since: since))
        case .actOnJob(let id, let action): try await page { try await question(action, id, $0) }
        case .actOnRun(let id, let action): try await page { try await question(action, id, $0) }
        case .calendar: try await page { try await CalendarPage(self, $0) }
        case .calendarDates: try await page { try await CalendarDatesPage(self, $0) }
        case .add: try await page { try await form(changing: nil, $0) }
        case .change(let id): try await page { try await form(changing: id, $0) }
        case .queues: try await page { try await QueuesPage(self, $0) }
        case .queue(let name): try await page { try await QueuePage(name, self, $0) }
        case .actOnQueue(let name, let action):
            try await page { try await question(action, name, $0) }
        case .doctor: try await page { try await DoctorPage(self, $0) }
        // Not to be asked for by a link: the site has refused it.
        case .actOnJobs: throw NotFound(description: "there is no such page")
        }
    }

    /// A page that is made of what the daemon says.
    func page(_ make: (Session) async throws -> some PageContent) async throws -> Answer {
        let (page, status) = try await site.daemon.connected { session in
            (try await make(session).page, session.status)
        }
        return .page(page.status, document(page, status))
    }

    /// A stream, where there is a place for one more, which it has then.
    private func stream(_ stream: some ServedStream) throws -> Answer {
        guard site.streams.take() else { throw TooManyStreams() }
        return .stream(stream)
    }

    /// A page in its frame.
    func document(_ page: Page, _ status: StatusReply?) -> Node {
        let flash = query(Flash.field).flatMap(site.flashes.take)
        return Frame(visit: self, status: status, flash: flash).document(page)
    }
}

/// What a page shows: read of the daemon first, then made into markup.
protocol PageContent: Sendable {
    var page: Page { get }
}
