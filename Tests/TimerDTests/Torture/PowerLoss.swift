// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// What a disk may hold of a database after power was lost: from the files as they were when the
/// daemon started, and the journal of its writes and syncs since.
///
/// A write that no sync of its file followed is kept, dropped or torn, each by dice and whatever the
/// order; within a sector of 512 bytes it is all or nothing. Files that were made or deleted since
/// the last sync of their folder are so up to some point in the order in which that happened.
struct PowerLoss {
    private enum Note: UInt64 {
        case create = 1
        case write, truncate, sync, unlink
    }

    /// The files of a database, by their number in the journal.
    private static let suffixes: [UInt64: String] = [1: "", 2: "-wal", 3: "-journal"]
    private static let folderNumber: UInt64 = 4

    private enum Change {
        case write(Int, [UInt8])
        case truncate(Int)
    }

    /// A file whose name may come and go.
    private final class Content {
        var synced: [UInt8]
        var unsynced: [Change] = []

        init(_ bytes: [UInt8]) { synced = bytes }
    }

    /// What is known to be on disk, by number.
    private var names: [UInt64: Content] = [:]
    /// What the daemon sees.
    private var current: [UInt64: Content] = [:]
    /// Since the last sync of the folder; nil for a file that was deleted.
    private var renames: [(number: UInt64, content: Content?)] = []
    private(set) var dropped = 0
    private(set) var kept = 0
    private(set) var torn = 0

    /// Takes the files of the database at `path` for durable: to be called before the daemon starts.
    init(before path: String) {
        for (number, suffix) in Self.suffixes {
            guard let bytes = FileManager.default.contents(atPath: path + suffix) else { continue }
            names[number] = Content([UInt8](bytes))
        }
        current = names
    }

    /// Puts the files at `path` into a state that the loss of power may leave.
    mutating func strike(_ path: String, journal: String, dice: inout Dice) throws {
        replay([UInt8](FileManager.default.contents(atPath: journal) ?? Data()))
        // All is lost, all is kept, or anything between.
        let chance = dice.pick([(1, 0.0), (1, 1.0), (2, 0.5), (1, 0.1), (1, 0.9)])
        let survived = Int.random(in: 0...renames.count, using: &dice)
        for rename in renames.prefix(survived) { names[rename.number] = rename.content }
        for (number, suffix) in Self.suffixes {
            unlink(path + suffix)
            guard let content = names[number] else { continue }
            let bytes = settle(content, chance: chance, dice: &dice)
            try Data(bytes).write(to: URL(fileURLWithPath: path + suffix))
        }
        // Memory that was shared, and is made anew.
        unlink(path + "-shm")
    }

    private mutating func replay(_ journal: [UInt8]) {
        var position = 0
        func word(_ index: Int) -> UInt64 {
            journal[(position + 8 * index)..<(position + 8 * index + 8)].reversed()
                .reduce(0) { $0 << 8 | UInt64($1) }
        }
        while position + 32 <= journal.count {
            guard let note = Note(rawValue: word(0)) else { break }
            let (number, offset, length) = (word(1), Int(word(2)), Int(word(3)))
            position += 32
            // The daemon was killed within this note: the write itself counts as dropped.
            guard position + length <= journal.count else { break }
            let bytes = Array(journal[position..<(position + length)])
            position += length
            apply(note, number, offset, bytes)
        }
    }

    private mutating func apply(_ note: Note, _ number: UInt64, _ offset: Int, _ bytes: [UInt8]) {
        switch note {
        case .create:
            let content = Content([])
            current[number] = content
            renames.append((number, content))
        case .unlink:
            current[number] = nil
            renames.append((number, nil))
        case .write: current[number]?.unsynced.append(.write(offset, bytes))
        case .truncate: current[number]?.unsynced.append(.truncate(offset))
        case .sync where number == Self.folderNumber:
            for rename in renames { names[rename.number] = rename.content }
            renames = []
        case .sync:
            guard let content = current[number] else { return }
            for change in content.unsynced { Self.carryOut(change, on: &content.synced) }
            content.unsynced = []
        }
    }

    private mutating func settle(_ content: Content, chance: Double, dice: inout Dice) -> [UInt8] {
        for change in content.unsynced {
            guard dice.isTrue(chance) else {
                dropped += 1
                continue
            }
            kept += 1
            guard case .write(let offset, let bytes) = change, chance < 1, dice.isTrue(0.2) else {
                Self.carryOut(change, on: &content.synced)
                continue
            }
            torn += 1
            var start = offset
            while start < offset + bytes.count {
                let end = min((start / 512 + 1) * 512, offset + bytes.count)
                if dice.isTrue(0.5) {
                    let sector = Array(bytes[(start - offset)..<(end - offset)])
                    Self.carryOut(.write(start, sector), on: &content.synced)
                }
                start = end
            }
        }
        return content.synced
    }

    private static func carryOut(_ change: Change, on bytes: inout [UInt8]) {
        switch change {
        case .truncate(let size):
            if size < bytes.count { bytes.removeLast(bytes.count - size) }
            bytes += [UInt8](repeating: 0, count: size - bytes.count)
        case .write(let offset, let new):
            let missing = offset + new.count - bytes.count
            if missing > 0 { bytes += [UInt8](repeating: 0, count: missing) }
            bytes.replaceSubrange(offset..<(offset + new.count), with: new)
        }
    }
}
