// SPDX-License-Identifier: Apache-2.0

import HTML
import TimerControl

/// What a run has written, as far as a page shows it: all of it, or its end.
struct RunOutput {
    let isRunning: Bool
    private let content: Node
    private let only: StandardStream?
    private let shown: OutputPosition
    private let stdout: OutputReply.Total
    private let stderr: OutputReply.Total
    private let isCut: Bool
    /// Whether there is more behind what is shown, too.
    private let hasMore: Bool

    /// Of each stream, where there is more than one reply holds.
    private static let most: Int64 = 128 << 10
    /// How many replies are read for these: what JSON writes in six bytes, or in small pieces, takes several.
    private static let replies = 4

    init(of run: RunID, only: StandardStream?, _ client: ControlClient) async throws {
        self.only = only
        var request = ReadOutput(id: run)
        var reply = try await client.readOutput(request)
        isCut = reply.more == true
        var document = OutputDocument(only: only)
        if isCut {
            func end(_ stream: StandardStream, _ total: OutputReply.Total) -> Int64 {
                only == nil || only == stream ? max(0, total.bytes - Self.most) : total.bytes
            }
            let position = OutputPosition(
                stdout: end(.stdout, reply.stdout),
                stderr: end(.stderr, reply.stderr)
            )
            request.after = position
            reply = try await client.readOutput(request)
            document = OutputDocument(only: only, after: position)
        }
        var nodes = [document.paint(reply)]
        while reply.more == true, nodes.count < Self.replies {
            request.after = document.position
            reply = try await client.readOutput(request)
            nodes.append(document.paint(reply))
        }
        content = .group(nodes)
        hasMore = reply.more == true
        shown = document.shown
        (isRunning, stdout, stderr) = (reply.running, reply.stdout, reply.stderr)
    }

    func section(_ parts: Parts, _ id: String, isRunning: Bool, isInterrupted: Bool) -> Node {
        HTML.section(.aria("labelledby", "h-out")) {
            div(.class("head")) {
                h2(.id("h-out")) { "Output" }
                " "
                span(.class("count"), .data("live", "bytes")) {
                    Self.size(totals, isInterrupted: isInterrupted)
                }
                nav(.class("views"), .aria("label", "Which output")) {
                    view("both", nil, id)
                    " "
                    view("stdout", .stdout, id)
                    " "
                    view("stderr", .stderr, id)
                }
                " "
                a(.class("more"), .href(link(Link("runs", id, "output.txt")))) { "As a file" }
            }
            if isCut {
                p(.class("note")) {
                    "\(hasMore && !isRunning ? "A part of it, without its end" : "The end of it"): \(isWhole ? "the whole" : "all that is kept") is in the file."
                }
            }
            pre(
                .class("output"),
                .id("output"),
                .named("tabindex", 0),
                .role("log"),
                .aria("label", "Output"),
                .aria("live", "off"),
                isRunning ? .data("follow", stream(id).text) : nil
            ) { content }
            p(.class("soft"), .id("follow"), .role("status"))
        }
    }

    private func link(_ link: Link) -> Link { link.with("stream", only?.rawValue) }

    private func stream(_ id: String) -> Link {
        link(Link("runs", id, "output", "stream")).with("after", shown.text)
    }

    private func view(_ word: String, _ stream: StandardStream?, _ id: String) -> Node {
        a(
            .href(Link("runs", id).with("stream", stream?.rawValue)),
            stream == only ? .aria("current", "page") : nil
        ) { word }
    }

    private var isWhole: Bool { totals.allSatisfy { $0.dropped == 0 } }

    /// Of the streams that are shown.
    private var totals: [OutputReply.Total] {
        [only == .stderr ? nil : stdout, only == .stdout ? nil : stderr].compactMap(\.self)
    }

    /// "1.2 KiB, 183 KiB more are not kept".
    ///
    /// `isInterrupted`: timerd-runner may have ended with what the run had written.
    static func size(_ totals: [OutputReply.Total], isInterrupted: Bool = false) -> String {
        let bytes = totals.reduce(0) { $0 + $1.bytes }
        let dropped = totals.reduce(0) { $0 + $1.dropped }
        if bytes == 0 { return isInterrupted ? "not known" : "nothing" }
        let kept = ByteCount.words(bytes - dropped)
        return dropped == 0 ? kept : "\(kept), \(ByteCount.words(dropped)) more are not kept"
    }
}

extension OutputPosition {
    /// "41.0": of standard output, and of standard error.
    var text: String { "\(stdout).\(stderr)" }

    /// Nil for what is none.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Int64($0) }
        guard parts.count == 2, let stdout = parts[0], let stderr = parts[1], stdout >= 0,
            stderr >= 0
        else { return nil }
        self.init(stdout: stdout, stderr: stderr)
    }
}
