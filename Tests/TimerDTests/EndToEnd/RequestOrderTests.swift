// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

/// Requests that are sent one behind the other, without a wait for the answers.
@Suite("The order of requests", .timeLimit(.minutes(3))) struct RequestOrderTests {
    /// Requests that are sent together, and what answers have, by their places.
    ///
    /// `N` stands for a number that is another in each round, `D` for a day of it.
    struct Row: Sendable, CustomTestStringConvertible {
        var requests: [String]
        var answers: [Int: String]
        var testDescription: String { requests.joined(separator: " ") }
    }

    static let rows = [
        Row(
            requests: [
                #""job.setFireDate","params":{"name":"far","fireDate":"2101-01-DT00:00:00Z"}"#,
                #""job.get","params":{"name":"far"}"#,
            ],
            answers: [1: #""fireDate":"2101-01-DT"#]
        ),
        Row(
            requests: [
                #""job.add","params":{"name":"soon N","schedule":{"in":"3s"}}"#,
                #""job.get","params":{"name":"soon N"}"#,
            ],
            answers: [1: #""name":"soon N""#]
        ),
        Row(
            requests: [
                #""job.add","params":{"name":"late N","schedule":{"in":"3h"}}"#,
                #""job.get","params":{"name":"late N"}"#,
                #""job.fire","params":{"name":"late N"}"#,
                #""job.get","params":{"name":"late N"}"#,
            ],
            answers: [1: #""name":"late N""#, 2: #""fire":"#, 3: #""fires":1"#]
        ),
        Row(
            requests: [
                #""job.add","params":{"name":"same","replace":true,"schedule":{"in":"Nh"}}"#,
                #""job.get","params":{"name":"same"}"#,
            ],
            answers: [1: #""in":"Nh""#]
        ),
        Row(
            requests: [
                #""job.add","params":{"name":"next N","schedule":{"every":"4s"}}"#,
                #""job.fire","params":{"name":"next N"}"#,
                #""job.setFireDate","params":{"name":"next N","fireDate":"+2h"}"#,
            ],
            answers: [1: #""fire":"#, 2: #""job":"#]
        ),
        Row(
            requests: [
                #""queue.set","params":{"queue":"q N","paused":true}"#,
                #""job.add","params":{"queue":"q N","schedule":{"in":"0s"}}"#,
                #""task.reserve","params":{"queues":["q N"]}"#,
                #""queue.set","params":{"queue":"q N","paused":false}"#,
                #""task.reserve","params":{"queues":["q N"]}"#,
            ],
            answers: [
                0: #""paused":true"#, 2: #""tasks":[]"#, 3: #""paused":false"#, 4: #""token":"#,
            ]
        ),
    ]

    @Test(
        "Changes come in the order in which they were sent, and a read has those before it",
        arguments: rows
    )
    func order(row: Row) async throws {
        try await DaemonProcess.with { daemon in
            let busy = try Busy(daemon.socket)
            let client = try RawPeer(daemon.socket)
            _ = try client.ask(
                #"{"jsonrpc":"2.0","id":0,"method":"job.add","params":{"name":"far","schedule":{"at":"2101-01-01T00:00:00Z"}}}"#
            )
            for number in 1...60 {
                func filled(_ text: String) -> String {
                    let day = number % 28 + 1
                    return text.replacing("N", with: "\(number)")
                        .replacing("DT", with: (day < 10 ? "0" : "") + "\(day)T")
                }
                let lines = row.requests.enumerated().map { id, request in
                    #"{"jsonrpc":"2.0","id":\#(id),"method":\#(filled(request))}"# + "\n"
                }
                // Of each second round the same user has something else in progress.
                if number % 2 == 0 { try busy.begin() }
                try client.send(lines.joined())
                for id in row.requests.indices {
                    let answer = try client.line()
                    guard let words = row.answers[id].map(filled) else { continue }
                    #expect(answer.contains(words), "of round \(number)")
                }
                if number % 2 == 0 { try busy.end() }
            }
        }
    }

    /// Another connection of the same user, which changes a job of its own meanwhile.
    private struct Busy {
        private let client: RawPeer
        private static let pairs = 8

        init(_ socket: String) throws {
            client = try RawPeer(socket)
            _ = try client.ask(
                #"{"jsonrpc":"2.0","id":0,"method":"job.add","params":{"name":"busy","schedule":{"every":"1h"}}}"#
            )
        }

        func begin() throws {
            for _ in 0..<Self.pairs {
                for verb in ["pause", "resume"] {
                    try client.send(
                        #"{"jsonrpc":"2.0","id":1,"method":"job.\#(verb)","params":{"name":"busy"}}"#
                            + "\n"
                    )
                }
            }
        }

        func end() throws { for _ in 0..<2 * Self.pairs { _ = try client.line() } }
    }
}
