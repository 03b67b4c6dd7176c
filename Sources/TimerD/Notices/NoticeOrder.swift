// SPDX-License-Identifier: Apache-2.0

import Runner
import Schedules
import TimerControl

/// The program that hands a notice over, and what it reads; pure.
///
/// No URL is among its arguments: these are in the list of processes, for all users to see.
struct NoticeOrder: Hashable, Sendable {
    var argv: [String]
    var environment: [String: String] = [:]
    var input: [UInt8] = []

    /// How long curl may take for all of it, below the time that a try has.
    static let webSeconds = 30

    /// `environment`: what the job gives to its commands.
    init(
        _ notice: StoredNotice,
        host: String,
        mailProgram: String,
        environment: [String: String]
    ) {
        guard !notice.isUnread else {
            // It is tried as any other, so that it is listed with its reason, and given up in words.
            argv = .shell("echo 'its row in the database cannot be read' >&2; exit 65")
            return
        }
        var document = notice.document
        let text = NoticeText(document: document, host: host)
        (document.host, document.subject) = (host, text.subject)
        switch notice.place {
        case .mail(let address):
            argv = [mailProgram, "-i", "-t"]
            let mail = NoticeMail.text(
                to: address ?? notice.owner.name,
                text,
                notice: "\(notice.id)",
                at: notice.addedAt
            )
            input = Array(mail.utf8)
        case .web(let url):
            // -q: whatever the owner's .curlrc says, the answer decides, and no URL is shown.
            argv = ["curl", "-q", "-K", "-"]
            let isPing = notice.reason == .ping
            input = Array(Self.curl(url, isPing ? nil : document.text).utf8)
        case .command(let line):
            argv = .shell(line)
            input = Array((document.text + "\n").utf8)
            self.environment = Self.variables(document).merging(environment) { own, _ in own }
        case .desktop:
            let urgency =
                notice.reason == .failed || notice.reason == .missed ? "critical" : "normal"
            argv = [
                "notify-send", "--app-name=timerd", "--urgency=\(urgency)", "--", text.subject,
                "timerctl show \(document.job)",
            ]
        case .none, .masked:
            // Nothing stores one of these; it fails, with its reason.
            argv = .shell("echo 'this is no place for a notice' >&2; exit 78")
        }
    }

    /// What curl reads: without a body it asks for the URL, else it posts it.
    private static func curl(_ url: String, _ body: String?) -> String {
        var lines = [
            "url = \(quoted(url))", "proto = \"=http,https\"", "user-agent = \"timerd\"",
            "max-time = \(webSeconds)", "output = \"/dev/null\"", "silent", "show-error", "fail",
            "globoff",
            // A redirect is no delivery: it is a failure, and is not followed.
            "location", "max-redirs = 0",
            // Of some answers curl says nothing: a redirect that does not say where to, or a 304.
            "write-out = \"%{http_code}\"",
        ]
        if let body {
            lines += [
                "header = \"Content-Type: application/json\"", "header = \"Expect:\"",
                "data-binary = \(quoted(body))",
            ]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func quoted(_ text: String) -> String { "\"\(text.escapedForQuotes)\"" }

    private static func variables(_ document: NoticeDocument) -> [String: String] {
        [
            "TIMERD_HOST": document.host ?? "",
            "TIMERD_JOB_ID": "\(document.job)",
            "TIMERD_JOB_NAME": document.name ?? "",
            "TIMERD_NOTICE_ID": document.notice.map { "\($0)" } ?? "",
            "TIMERD_OUTCOME": document.outcome?.rawValue ?? "",
            "TIMERD_OWNER": document.owner,
            "TIMERD_REASON": document.reason,
            "TIMERD_RUN_ID": document.run.map { "\($0)" } ?? "",
            "TIMERD_STATUS": document.status.map { "\($0)" } ?? "",
            "TIMERD_SUBJECT": document.subject ?? "",
        ]
    }
}

/// What came of a try to hand a notice over; pure.
enum NoticeAnswer {
    /// Why it failed, in a line without what is secret in `place`; nil if it did not.
    static func failure(_ result: RunResult, at place: NoticePlace) -> String? {
        let answered = answer(result, at: place)
        if result.outcome == .exited(0), answered == nil { return nil }
        var line =
            switch result.outcome {
            case .exited(0): "the answer has status \(answered ?? 0)"
            case .exited(let status): "exit status \(status)"
            default: "\(result.outcome)"
            }
        let said = String(decoding: result.output.stderr, as: UTF8.self)
            .split(whereSeparator: \.isNewline).last.map(String.init)
        if let said { line += ": \(said)" }
        if case .web(let url) = place { line = line.replacing(url, with: place.masked) }
        let printable = line.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: printable.prefix(500))
        return String(text)
    }

    /// The status that a web server has answered with, if that is no success: curl has written it.
    private static func answer(_ result: RunResult, at place: NoticePlace) -> Int? {
        guard case .web = place else { return nil }
        let status = Int(String(decoding: result.output.stdout, as: UTF8.self))
        return status.flatMap { (200..<300).contains($0) ? nil : $0 }
    }
}
