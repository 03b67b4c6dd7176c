// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Locks
import Schedules
import Synchronization

@testable import LinuxSystem
@testable import TimerD

/// Watchers who keep up, all on one thread: what the first of them was sent and when, and whether
/// the others were sent the same bytes.
///
/// Bytes are kept and compared, and read for their meaning once all is over: so a test without
/// optimisation keeps up with a quarter of a million lines a second.
final class Audience: Sendable {
    struct Heard {
        var events: [HeardEvent] = []
        /// Of those who were sent something else than the first.
        var differences: [String] = []
        /// How many were held up for so long, on a busy machine, that they were told of a loss.
        var losers = 0
    }

    private static let loss = #""method":"events.lost""#
    private let peers: [SilentPeer]
    /// The last event, once it is known.
    private let last = Atomic<Int64>(.max)
    private let heard = Locked(Heard())
    private let isGone = Latch()

    /// Begins to listen; all have subscribed alike, before there was any event.
    init(_ peers: [SilentPeer]) {
        self.peers = peers
        Thread.detachNewThread { self.listen() }
    }

    /// What was heard up to an event, for which it waits 20 s at most.
    func leave(after seq: Int64) async -> Heard {
        last.store(seq, ordering: .relaxed)
        await isGone.wait()
        return heard.withLock { $0 }
    }

    private func listen() {
        var bytes: [UInt8] = []
        var arrivals: [(end: Int, at: Timestamp)] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        var taken = peers.map { _ in 0 }
        var (different, losers): (Set<Int>, Set<Int>) = ([], [])
        var deadline: ContinuousClock.Instant?
        while true {
            while case let count = peers[0].receive(into: &buffer), count > 0 {
                if EventText(buffer[..<count]).contains(Self.loss) { losers.insert(0) }
                bytes += buffer[..<count]
                arrivals.append((bytes.count, SystemClock.read().wall))
            }
            for index in peers.indices.dropFirst() {
                // No more than the first was sent already, to compare it with.
                let room = min(buffer.count, bytes.count - taken[index])
                let count = peers[index].receive(into: &buffer, upTo: room)
                let isSame = bytes[taken[index]...].withUnsafeBytes { sent in
                    sent.baseAddress.map { memcmp($0, buffer, count) == 0 } ?? true
                }
                taken[index] += count
                guard !isSame, !losers.contains(0), !losers.contains(index) else { continue }
                let isLoss = EventText(buffer[..<count]).contains(Self.loss)
                if isLoss { losers.insert(index) } else { different.insert(index) }
            }
            let last = last.load(ordering: .relaxed)
            if last < .max {
                deadline = deadline ?? .now + .seconds(60)
                let isWhole = taken.indices.dropFirst().allSatisfy {
                    taken[$0] == bytes.count || losers.contains($0)
                }
                if isWhole || losers.contains(0), bytes.lastSeq == last { break }
                if let deadline, ContinuousClock.now > deadline { break }
            }
            usleep(2000)
        }
        var result = Heard(events: HeardEvent.all(in: bytes, arrivals))
        for index in different {
            result.differences.append("watcher \(index) was sent other bytes")
        }
        result.losers = losers.count
        if losers.contains(0) { losers = Set(peers.indices) }
        for (index, count) in taken.enumerated().dropFirst()
        where count != bytes.count && !losers.contains(index) {
            result.differences.append("watcher \(index) was sent \(count) of \(bytes.count) bytes")
        }
        heard.withLock { $0 = result }
        isGone.open()
    }
}

/// What a test needs of an event; read by hand, for there are very many.
struct HeardEvent {
    var seq: Int64
    var isFire: Bool
    var fireDate = Timestamp.distantPast
    var firedAt = Timestamp.distantPast
    var arrivedAt = Timestamp.distantPast
    var missed = 0

    /// Nil for a line that is no event.
    init?(_ line: EventText) {
        guard line.contains(#""method":"event","#), let seq = line.number("seq") else { return nil }
        self.seq = seq
        isFire = line.contains(#""type":"fire.fired""#)
        guard isFire else { return }
        fireDate = line.date("fireDate")
        firedAt = line.date("firedAt")
        missed = line.number("missed").map(Int.init) ?? 0
    }

    static func all(in bytes: [UInt8], _ arrivals: [(end: Int, at: Timestamp)]) -> [Self] {
        var arrival = 0
        return bytes.split(separator: 10).compactMap { line in
            while arrivals[arrival].end < line.endIndex { arrival += 1 }
            guard var event = Self(EventText(line)) else { return nil }
            event.arrivedAt = arrivals[arrival].at
            return event
        }
    }
}

/// A line that the daemon sent, as C searches text.
struct EventText {
    private let text: [CChar]

    init(_ line: ArraySlice<UInt8>) { text = line.map(CChar.init(bitPattern:)) + [0] }

    func contains(_ words: String) -> Bool { strstr(text, words) != nil }

    /// The integer behind a key.
    func number(_ key: String) -> Int64? { value(key) { strtoll($0, nil, 10) } }

    /// The date behind a key; in the distant past where there is none.
    func date(_ key: String) -> Timestamp {
        let date = value(key) { String(cString: $0).dropFirst().prefix { $0 != "\"" } }
        return date.flatMap { Timestamp(rfc3339: $0) } ?? .distantPast
    }

    private func value<T>(_ key: String, _ read: (UnsafePointer<CChar>) -> T) -> T? {
        text.withUnsafeBufferPointer { text in
            let name = "\"\(key)\":"
            return text.baseAddress.flatMap { strstr($0, name) }.map { read($0 + name.utf8.count) }
        }
    }
}

extension [UInt8] {
    /// The number of the event on the last line; nil while that is not whole.
    fileprivate var lastSeq: Int64? {
        guard last == 10 else { return nil }
        return dropLast().suffix(1000).split(separator: 10).last.flatMap {
            EventText($0).number("seq")
        }
    }
}
