// SPDX-License-Identifier: Apache-2.0

/// Inputs made of a corpus: cut, doubled, joined and with bytes put in; the same for the same seed.
struct Mutation {
    private let seeds: [[UInt8]]
    private var choice: Choice

    /// At least one seed.
    init(of seeds: [[UInt8]], seed: UInt64) {
        self.seeds = seeds
        choice = Choice(seed: seed)
    }

    mutating func next() -> [UInt8] {
        var input = anySeed()
        for _ in 0...choice.number(in: 0...3) {
            let start = choice.number(in: 0...input.count)
            let end = min(input.count, start + choice.number(in: 0...8))
            switch choice.number(in: 0...5) {
            case 0: input.removeSubrange(start..<end)
            case 1: input.insert(contentsOf: input[start..<end], at: start)
            case 2: input.insert(anyByte(), at: start)
            case 3: if start < input.count { input[start] = anyByte() }
            case 4: if start < input.count { input[start] ^= 1 << UInt8(choice.number(in: 0...7)) }
            default:
                let other = anySeed()
                input.replaceSubrange(start..., with: other[choice.number(in: 0...other.count)...])
            }
        }
        return input
    }

    private mutating func anySeed() -> [UInt8] { seeds[choice.number(in: 0...(seeds.count - 1))] }

    /// Mostly what the readers have a meaning for.
    private mutating func anyByte() -> UInt8 {
        let marks = Array("0123456789 \"\\{}[],:;.*/-+~#?@LWTZ\n\r\t".utf8)
        let isMark = choice.number(in: 0...3) > 0
        return isMark
            ? marks[choice.number(in: 0...(marks.count - 1))] : .random(in: 0...255, using: &choice)
    }
}
