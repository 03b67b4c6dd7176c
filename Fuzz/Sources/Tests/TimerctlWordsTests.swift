// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

/// What `timerctl` alone makes of words, its user's or those of others.
@Suite("Words of timerctl") struct TimerctlWordsTests {
    @Test("A bare schedule is one whose kind takes it, or is refused with a reason")
    func bareSchedules() throws {
        let corpora: [FuzzTarget] = [.cron, .calendar, .durations, .dates]
        var mutation = Mutation(of: try corpora.flatMap { try $0.corpus() }, seed: 2)
        for _ in 0..<2000 {
            let input = mutation.next()
            let text = String(decoding: input, as: UTF8.self)
            var choice = Choice(of: input)
            let now = choice.date()
            let zone = choice.zone()
            do {
                let guess = try ScheduleGuess(text, hasGrid: false, now: now, zone: zone)
                #expect(guess.others.isEmpty == (guess.note == nil), "\(text.debugDescription)")
            } catch {
                #expect(!error.message.isEmpty, "\(text.debugDescription)")
            }
        }
    }

    @Test("Text of others is shown without what a terminal obeys, and cut to the columns there are")
    func printable() throws {
        var mutation = Mutation(of: try FuzzTarget.json.corpus(), seed: 3)
        for columns in 1...2000 {
            let text = String(decoding: mutation.next(), as: UTF8.self)
            let shown = Printable.escaped(text)
            #expect(!shown.unicodeScalars.contains(where: Printable.isHidden))
            #expect(Printable.width(Printable.cut(shown, to: columns % 20 + 1)) <= columns % 20 + 1)
            let line = ShellWords.joined([text, text])
            #expect(!line.unicodeScalars.contains(where: Printable.isHidden))
        }
    }

    @Test("What is no JSON is refused with the place of the fault")
    func userInfo() throws {
        var mutation = Mutation(of: try FuzzTarget.json.corpus(), seed: 4)
        for _ in 0..<2000 {
            let text = String(decoding: mutation.next(), as: UTF8.self)
            do {
                _ = try UserInfo.value(of: text) { _ throws(Failure) in Array("{}".utf8) }
            } catch {
                #expect(error.message.contains("line "), "\(text.debugDescription)")
            }
        }
    }
}
