// SPDX-License-Identifier: Apache-2.0

/// Elements by time, the soonest first: inserting, moving and removing cost O(log n).
///
/// Elements of the same time come out in the order in which they were put there.
struct TimerHeap<Element> {
    /// Names an element from its insertion to its removal; used again afterwards.
    typealias Handle = Int

    private struct Node {
        var time: MonotonicTime
        var order: UInt64
        let handle: Handle
        let element: Element

        func isBefore(_ other: Node) -> Bool {
            time == other.time ? order < other.order : time < other.time
        }
    }

    /// A binary heap: the children of `nodes[i]` are `nodes[2 * i + 1]` and `nodes[2 * i + 2]`.
    private var nodes: [Node] = []
    /// Where in `nodes` each handle is.
    private var positions: [Int] = []
    private var freeHandles: [Handle] = []
    private var nextOrder: UInt64 = 0

    var count: Int { nodes.count }
    var first: (time: MonotonicTime, element: Element)? {
        nodes.first.map { ($0.time, $0.element) }
    }

    /// In no order.
    var elements: [Element] { nodes.map(\.element) }

    mutating func insert(_ element: Element, at time: MonotonicTime) -> Handle {
        let handle = freeHandles.popLast() ?? positions.count
        if handle == positions.count {
            positions.append(nodes.count)
        }
        nodes.append(Node(time: time, order: takeOrder(), handle: handle, element: element))
        siftUp(from: nodes.count - 1)
        return handle
    }

    mutating func move(_ handle: Handle, to time: MonotonicTime) {
        let position = positions[handle]
        nodes[position].time = time
        nodes[position].order = takeOrder()
        siftDown(from: siftUp(from: position))
    }

    @discardableResult mutating func remove(_ handle: Handle) -> Element {
        let position = positions[handle]
        let last = nodes.count - 1
        if position != last {
            nodes.swapAt(position, last)
        }
        let element = nodes.removeLast().element
        freeHandles.append(handle)
        if position != last {
            siftDown(from: siftUp(from: position))
        }
        giveMemoryBack()
        return element
    }

    mutating func popFirst() -> Element? {
        nodes.first.map { remove($0.handle) }
    }

    private mutating func takeOrder() -> UInt64 {
        defer { nextOrder += 1 }
        return nextOrder
    }

    /// Frees the memory of an empty heap that was large once.
    ///
    /// Only an empty heap has no handles whose positions must be kept.
    private mutating func giveMemoryBack() {
        if nodes.isEmpty, nodes.capacity > 1024 {
            nodes = []
            positions = []
            freeHandles = []
        }
    }

    // MARK: Order

    @discardableResult private mutating func siftUp(from start: Int) -> Int {
        let node = nodes[start]
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard node.isBefore(nodes[parent]) else { break }
            put(nodes[parent], at: position)
            position = parent
        }
        put(node, at: position)
        return position
    }

    private mutating func siftDown(from start: Int) {
        let node = nodes[start]
        var position = start
        while true {
            var child = 2 * position + 1
            guard child < nodes.count else { break }
            if child + 1 < nodes.count, nodes[child + 1].isBefore(nodes[child]) {
                child += 1
            }
            guard nodes[child].isBefore(node) else { break }
            put(nodes[child], at: position)
            position = child
        }
        put(node, at: position)
    }

    private mutating func put(_ node: Node, at position: Int) {
        nodes[position] = node
        positions[node.handle] = position
    }
}
