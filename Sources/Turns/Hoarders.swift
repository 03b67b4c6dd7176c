// SPDX-License-Identifier: Apache-2.0

/// The connections of a user that hold much, from when they hold too much together until they do no more.
struct Hoarders {
    private struct Hoarder {
        var holder: any ReplyHolder
        /// `takenBytes` at the last look; nil before the first, which may come as soon as it is added.
        var taken: Int?
    }

    private var hoarders: [ObjectIdentifier: Hoarder] = [:]

    /// Has each look after the next one tell whether this one takes much, if it is not among them yet.
    mutating func add(_ holder: any ReplyHolder) {
        let id = ObjectIdentifier(holder)
        guard hoarders[id] == nil else { return }
        hoarders[id] = Hoarder(holder: holder)
    }

    /// Takes out the one that holds most; nil if none holds much.
    mutating func removeLargest() -> (any ReplyHolder)? {
        let largest = hoarders.max { $0.value.holder.heldBytes < $1.value.holder.heldBytes }
        guard let largest, largest.value.holder.heldBytes > RequestLoad.muchHeld else { return nil }
        hoarders[largest.key] = nil
        return largest.value.holder
    }

    /// Those that hold much and have taken little since the last look, who holds most comes first.
    mutating func look() -> [any ReplyHolder] {
        var stalled: [any ReplyHolder] = []
        for (id, hoarder) in hoarders {
            let taken = hoarder.holder.takenBytes
            if hoarder.holder.heldBytes <= RequestLoad.muchHeld {
                hoarders[id] = nil
                continue
            }
            hoarders[id]?.taken = taken
            if let before = hoarder.taken, taken - before < RequestLoad.muchHeld {
                stalled.append(hoarder.holder)
            }
        }
        return stalled.sorted { $0.heldBytes > $1.heldBytes }
    }
}
