// SPDX-License-Identifier: Apache-2.0

/// The date of `at -t`, as touch(1) has it: [[CC]YY]MMDDhhmm[.SS].
enum TouchDate {
    /// As a date that is read anywhere; nil for what is none.
    ///
    /// Years of two digits are 1969 to 2068; without one it is `year`.
    static func words(_ text: String, year: Int) -> String? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let digits = parts[0]
        guard parts.count <= 2, parts.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }),
            parts.count == 1 || parts[1].count == 2, [8, 10, 12].contains(digits.count)
        else { return nil }
        func number(_ from: Int, _ count: Int) -> Substring { digits.dropFirst(from).prefix(count) }
        let start = digits.count - 8
        let stated = Int(number(0, start)).map { start == 4 ? $0 : $0 + ($0 < 69 ? 2000 : 1900) }
        let years = "000\(stated ?? year)".suffix(4)
        let seconds = parts.count == 2 ? ":\(parts[1])" : ""
        return "\(years)-\(number(start, 2))-\(number(start + 2, 2)) "
            + "\(number(start + 4, 2)):\(number(start + 6, 2))\(seconds)"
    }
}
