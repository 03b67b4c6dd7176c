// SPDX-License-Identifier: Apache-2.0

extension JSONText {
    /// The value with each number as text, in one form of all that are equal: for comparisons, which round nothing.
    ///
    /// Not equal are `1` and `1.0`, which many programs read as of two types, and `0` and `-0`.
    /// - Throws: for a text from a damaged database.
    package func meaning() throws(JSONSyntaxError) -> JSONValue {
        try JSONParser.parse(Array(text.utf8), isExact: true)
    }

    /// The one form of a number of JSON: an integer as it is, of others the digits and a power of ten.
    init(number text: String) {
        var rest = text[...]
        let sign = rest.first == "-" ? "-" : ""
        rest = rest.dropFirst(sign.count)
        let mantissa = rest.prefix { $0 != "e" && $0 != "E" }
        let power = rest.dropFirst(mantissa.count + 1)
        let parts = mantissa.split(separator: ".")
        let fraction = parts.count > 1 ? parts[1] : ""
        // A power beyond all that can be counted stays as it was written.
        guard mantissa.count < rest.count || parts.count > 1,
            let exponent = Int(power.isEmpty ? "0" : power),
            exponent.magnitude < 1 << 32
        else {
            self.init(checked: Array(text.utf8)[...])
            return
        }
        var digits = (parts[0] + fraction).drop { $0 == "0" }
        var shift = exponent - fraction.count
        while digits.last == "0" {
            digits.removeLast()
            shift += 1
        }
        let form = digits.isEmpty ? "\(sign)0e0" : "\(sign)\(digits)e\(shift)"
        self.init(checked: Array(form.utf8)[...])
    }
}
