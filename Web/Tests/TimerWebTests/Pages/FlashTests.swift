// SPDX-License-Identifier: Apache-2.0

import HTML
import Testing

@testable import TimerWeb

/// What is kept of what was done, until a page says it.
@Suite struct FlashTests {
    private func flash(_ bytes: Int) -> Flash {
        let value = String(repeating: "1", count: bytes)
        let undo = Flash.Undo(label: "Undo", action: Link(), fields: [Link.Field("ids", value)])
        return .done("Done.", undo: undo)
    }

    @Test("Each is shown once, and the newest stay where nobody asks for them")
    func count() {
        let flashes = Flashes()
        let keys = (0..<250).map { _ in flashes.keep(flash(1)) }
        #expect(flashes.take(keys[249]) != nil)
        #expect(flashes.take(keys[249]) == nil)
        #expect(keys.count { flashes.take($0) != nil } == 199)
    }

    @Test("Long ones are kept as far as there is room; the newest whatever it takes")
    func bytes() {
        let flashes = Flashes()
        let quarter = flash(Flashes.mostBytes / 4)
        let keys = (0..<20).map { _ in flashes.keep(quarter) }
        // The newest, and three that have some bytes more than a quarter of the room.
        #expect(keys.map { flashes.take($0) != nil } == (0..<20).map { $0 >= 16 })
        let small = flashes.keep(flash(1))
        let large = flashes.keep(flash(Flashes.mostBytes + 1))
        #expect(flashes.take(small) != nil)
        #expect(flashes.take(large) != nil)
    }
}
