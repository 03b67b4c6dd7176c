// SPDX-License-Identifier: Apache-2.0

/// How a terminal would show text: what SGR sequences (ECMA-48, 8.3.117) have set.
struct TerminalStyle: Hashable, Sendable {
    /// 0 to 15; nil for the page's own.
    private(set) var colour: Int?
    private(set) var ground: Int?
    private(set) var marks: Set<Mark> = []

    /// The raw values are the classes that the style sheet knows.
    enum Mark: String, CaseIterable, Sendable {
        case bold = "s-b"
        case dim = "s-d"
        case italic = "s-i"
        case underline = "s-u"
        case struck = "s-s"
        case reverse = "s-r"
    }

    /// The classes of a span; empty where it needs none.
    var classes: String {
        var names = colour.map { ["f-\($0)"] } ?? []
        if let ground { names.append("g-\(ground)") }
        names += Mark.allCases.filter(marks.contains).map(\.rawValue)
        return names.joined(separator: " ")
    }

    /// Takes the parameters of a sequence: "1;31", "38;5;208".
    mutating func apply(_ parameters: some StringProtocol) {
        // With colons as ISO 8613-6 has them, too.
        var codes = parameters.split(omittingEmptySubsequences: false) { $0 == ";" || $0 == ":" }
            .map { $0.isEmpty ? 0 : Int($0) ?? -1 }[...]
        while let code = codes.popFirst() {
            switch code {
            case 0: self = Self()
            case 1: marks.insert(.bold)
            case 2: marks.insert(.dim)
            case 3: marks.insert(.italic)
            case 4: marks.insert(.underline)
            case 7: marks.insert(.reverse)
            case 9: marks.insert(.struck)
            case 22: marks.subtract([.bold, .dim])
            case 23: marks.remove(.italic)
            case 24: marks.remove(.underline)
            case 27: marks.remove(.reverse)
            case 29: marks.remove(.struck)
            case 30...37: colour = code - 30
            case 39: colour = nil
            case 40...47: ground = code - 40
            case 49: ground = nil
            case 90...97: colour = code - 82
            case 100...107: ground = code - 92
            case 38: colour = Self.extended(&codes) ?? colour
            case 48: ground = Self.extended(&codes) ?? ground
            default: break
            }
        }
    }

    /// A colour of 256, or of red, green and blue, as the nearest of 16.
    private static func extended(_ codes: inout ArraySlice<Int>) -> Int? {
        switch codes.popFirst() {
        case 5:
            guard let index = codes.popFirst(), 0...255 ~= index else { return nil }
            if index < 16 { return index }
            if index >= 232 {
                return nearest(
                    (index - 232) * 10 + 8,
                    (index - 232) * 10 + 8,
                    (index - 232) * 10 + 8
                )
            }
            let levels = [0, 95, 135, 175, 215, 255]
            let cube = index - 16
            return nearest(levels[cube / 36], levels[cube / 6 % 6], levels[cube % 6])
        case 2:
            let parts = codes.prefix(3)
            codes = codes.dropFirst(3)
            guard parts.count == 3, parts.allSatisfy({ 0...255 ~= $0 }) else { return nil }
            return nearest(
                parts[parts.startIndex],
                parts[parts.startIndex + 1],
                parts[parts.startIndex + 2]
            )
        default: return nil
        }
    }

    private static func nearest(_ red: Int, _ green: Int, _ blue: Int) -> Int {
        let most = max(red, green, blue)
        // Dark and grey ones by their light, the others by which parts are strong.
        guard most >= 48 else { return 0 }
        func bit(_ part: Int) -> Int { part * 2 > most ? 1 : 0 }
        let index = bit(red) | bit(green) << 1 | bit(blue) << 2
        if index == 7 { return most > 200 ? 15 : most > 120 ? 7 : 8 }
        return most > 200 ? index + 8 : index
    }
}
