// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The cookies that a browser sends, by RFC 6265.
struct Cookies {
    private let pairs: [(name: Substring, value: Substring)]

    init(_ request: HTTPRequest) {
        pairs = request.headerFields[values: .cookie].flatMap { line in
            line.split(separator: ";").compactMap { pair in
                let halves = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                return halves.count == 2 ? (halves[0], halves[1]) : nil
            }
        }
    }

    /// Another site on this host may have set one of the same name for another path.
    func values(of name: String) -> [Substring] {
        pairs.filter { $0.name.utf8.elementsEqual(name.utf8) }.map(\.value)
    }
}
