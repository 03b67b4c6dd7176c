// SPDX-License-Identifier: Apache-2.0

/// What connections that hold much had taken at the last look, while those of their user hold too much together.
struct Hoarders {
    /// The holders stay for as long, so that none has the identity of another.
    private var seen: [ObjectIdentifier: (holder: any ReplyHolder, taken: Int)] = [:]

    /// Those that hold much and have taken little since the last look, who holds most comes first; of one that did not hold
    /// much by then nothing is known yet.
    mutating func look(at holders: [any ReplyHolder]) -> [any ReplyHolder] {
        let before = seen
        seen = [:]
        var stalled: [any ReplyHolder] = []
        for holder in holders where holder.heldBytes > RequestLoad.muchHeld {
            let id = ObjectIdentifier(holder)
            seen[id] = (holder, holder.takenBytes)
            if let last = before[id], holder.takenBytes - last.taken < RequestLoad.muchHeld {
                stalled.append(holder)
            }
        }
        return stalled.sorted { $0.heldBytes > $1.heldBytes }
    }

    /// Who holds most; nil if none holds much.
    static func largest(of holders: [any ReplyHolder]) -> (any ReplyHolder)? {
        let largest = holders.max { $0.heldBytes < $1.heldBytes }
        return largest.flatMap { $0.heldBytes > RequestLoad.muchHeld ? $0 : nil }
    }
}
