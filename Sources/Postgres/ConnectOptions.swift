// SPDX-License-Identifier: Apache-2.0

/// What libpq is told for one host: what the address says, and what it does not say and should.
struct ConnectOptions {
    private(set) var options: [PostgresAddress.Option]

    /// One for each host of the address, in its order.
    static func candidates(of address: PostgresAddress, application: String) -> [Self] {
        let all = Self(address, application: application)
        // To prefer a standby, libpq has to know all hosts.
        guard address.value(of: "target_session_attrs") != "prefer-standby" else { return [all] }
        let lists = ["host", "hostaddr", "port"].map { keyword in
            (address.value(of: keyword) ?? "").split(
                separator: ",",
                omittingEmptySubsequences: false
            )
            .map(String.init)
        }
        let count = max(lists[0].count, lists[1].count)
        // A list of another length is libpq's to refuse; one port is for all hosts.
        let isEven = lists.allSatisfy { $0.count == 1 || $0.count == count }
        guard count > 1, isEven, lists[0] == [""] || lists[0].count == count,
            lists[1] == [""] || lists[1].count == count
        else { return [all] }
        return (0..<count).map { number in
            var candidate = all
            for (keyword, list) in zip(["host", "hostaddr", "port"], lists) {
                candidate.set(keyword, list.count == 1 ? list[0] : list[number])
            }
            return candidate
        }
    }

    private init(_ address: PostgresAddress, application: String) {
        options = address.options.filter { !$0.value.isEmpty }
        // Nodes find each other's connections by it, whatever the address, its service or PGAPPNAME say.
        set("application_name", application)
        // A dead link is found by the first three when it is idle, by the last when it is used; each misses the
        // other case for 20 s and more.
        let defaults = [
            ("keepalives", "1"), ("keepalives_idle", "1"), ("keepalives_interval", "1"),
            ("keepalives_count", "3"), ("tcp_user_timeout", "3000"),
            ("client_encoding", "UTF8"), ("target_session_attrs", "read-write"),
        ]
        for (keyword, value) in defaults where address.value(of: keyword) == nil {
            options.append(PostgresAddress.Option(keyword: keyword, value: value))
        }
    }

    private mutating func set(_ keyword: String, _ value: String) {
        options.removeAll { $0.keyword == keyword }
        if !value.isEmpty { options.append(PostgresAddress.Option(keyword: keyword, value: value)) }
    }

    /// The host and port, for messages.
    var place: String {
        func value(_ keyword: String) -> String? { options.last { $0.keyword == keyword }?.value }
        let host = value("host") ?? value("hostaddr") ?? "the default host"
        return "'\(host)'" + (value("port").map { " port \($0)" } ?? "")
    }

    /// Calls `body` with the keywords and values as C has lists: they end with nil.
    func withTexts<Result>(_ body: (LibPQ.Texts, LibPQ.Texts) -> Result) -> Result {
        var bytes: [CChar] = []
        var starts: [Int] = []
        for text in options.flatMap({ [$0.keyword, $0.value] }) {
            starts.append(bytes.count)
            bytes += text.utf8CString
        }
        return bytes.withUnsafeBufferPointer { bytes in
            let pointers = starts.map { start in bytes.baseAddress.map { $0 + start } }
            let keywords = stride(from: 0, to: pointers.count, by: 2).map { pointers[$0] } + [nil]
            let values = stride(from: 1, to: pointers.count, by: 2).map { pointers[$0] } + [nil]
            return body(keywords, values)
        }
    }
}
