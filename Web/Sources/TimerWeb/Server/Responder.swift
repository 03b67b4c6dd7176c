// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes
import HummingbirdCore
import NIOCore

/// Answers the requests of one connection, one after the other.
struct Responder {
    let site: Site
    let connections: Connections
    let channel: any Channel

    /// - Throws: what ends the connection.
    func answer(_ request: Request, _ writer: consuming ResponseWriter) async throws {
        switch site.access.verdict(on: request.head) {
        case .allowed:
            guard connections.letIn(channel) else { throw ConnectionEnds() }
        case .welcome(let link, let cookie, let isFromElsewhere):
            guard connections.letIn(channel) else { throw ConnectionEnds() }
            let answer: Answer =
                isFromElsewhere ? .welcome(link, cookie: cookie) : .redirect(link, cookie: cookie)
            return try await write(answer, request, writer)
        case .refused(let reason):
            try await write(RefusalPage.answer(reason, site.assets), request, writer, isLast: true)
            // What else it sends is not read, and of who is not let in nothing is kept.
            throw ConnectionEnds()
        }
        var form: [Link.Field] = []
        var refusal: Answer?
        if !request.method.isReading {
            do {
                if let length = request.headers[.contentLength].flatMap(Int.init),
                    length > WebLimits.body
                {
                    throw NIOTooManyBytesError(maxBytes: WebLimits.body)
                }
                if request.headers[.expect]?.lowercased() == "100-continue" {
                    try await writer.writeInformationalHead(HTTPResponse(status: .continue))
                }
                let body = try await request.body.collect(upTo: WebLimits.body)
                switch read(request, body) {
                case .success(let fields): form = fields
                case .failure(let answer): refusal = answer.answer
                }
            } catch is NIOTooManyBytesError {
                let answer = Plain.answer(
                    .contentTooLarge,
                    "What was sent is larger than \(WebLimits.body >> 10) KiB."
                )
                try await write(answer, request, writer, isLast: true)
                // What else it sends is not read.
                throw ConnectionEnds()
            }
        }
        let answer =
            if let refusal { refusal } else { try await self.answer(request.head, form) }
        if case .stream(let stream) = answer {
            defer { site.streams.giveBack() }
            return try await stream.serve(request, writer, channel)
        }
        try await write(answer, request, writer)
    }

    /// A page is given up where nobody waits for it any more, and what a form would do; what one asks for is done all the
    /// same.
    private func answer(_ head: HTTPRequest, _ form: [Link.Field]) async throws -> Answer {
        let route = head.path.flatMap(Link.init(parsing:)).flatMap { Route($0.path) }
        guard head.method.isReading || route?.isTry(form) == true else {
            return await site.answer(head, form)
        }
        let departure = try await channel.pipeline.handler(type: Departure.self).get()
        return await departure.cancelling { [site] in await site.answer(head, form) }
    }

    private struct Unreadable: Error { var answer: Answer }

    private func read(
        _ request: Request,
        _ body: ByteBuffer
    ) -> Result<[Link.Field], Unreadable> {
        guard request.method == .post else { return .success([]) }
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
        guard type == "application/x-www-form-urlencoded" else {
            return .failure(
                Unreadable(
                    answer: Plain.answer(.unsupportedMediaType, "Only forms are accepted here.")
                )
            )
        }
        let text = String(buffer: body)
        guard let fields = PercentCoding.fields(text) else {
            let reason = PercentCoding.tooManyMarks(in: text).map { ": \($0)" } ?? ""
            let sentence = "The form cannot be read\(reason). Nothing was changed."
            return .failure(Unreadable(answer: Plain.answer(.badRequest, sentence)))
        }
        return .success(fields)
    }

    private func write(
        _ answer: Answer,
        _ request: Request,
        _ writer: consuming ResponseWriter,
        isLast: Bool = false
    ) async throws {
        var response = answer.response
        if isLast { response.headers[.connection] = "close" }
        let guardian = channel.closingIfStalled()
        defer { guardian.cancel() }
        if request.method == .head {
            let head = response.createHeadResponse()
            try await writer.write(response: head.head, body: head.body)
        } else {
            try await writer.write(response: response.head, body: response.body)
        }
    }
}

/// Ends a connection that cannot go on.
struct ConnectionEnds: Error {}
