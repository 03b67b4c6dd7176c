// SPDX-License-Identifier: Apache-2.0

/// A part of a page: an element, some text, or several of both.
///
/// There is no way to put markup into it as text: what a name, a command or an output holds is shown, never
/// obeyed.
public indirect enum Node: Hashable, Sendable {
    case element(Tag, [Attribute], [Node])
    /// Shown as it is; control characters are shown as symbols.
    case text(String)
    case group([Node])

    public static let empty = Node.group([])
}

extension Node: ExpressibleByStringInterpolation {
    public init(stringLiteral text: String) { self = .text(text) }
}

/// What stands in braces behind an element becomes its content.
@resultBuilder
public enum Markup {
    public static func buildExpression(_ node: Node) -> Node { node }
    public static func buildExpression(_ node: Node?) -> Node { node ?? .empty }
    public static func buildExpression(_ nodes: [Node]) -> Node { .group(nodes) }
    public static func buildExpression(_ text: String) -> Node { .text(text) }
    public static func buildBlock(_ nodes: Node...) -> Node {
        nodes.count == 1 ? nodes[0] : .group(nodes)
    }
    public static func buildOptional(_ node: Node?) -> Node { node ?? .empty }
    public static func buildEither(first node: Node) -> Node { node }
    public static func buildEither(second node: Node) -> Node { node }
    public static func buildArray(_ nodes: [Node]) -> Node { .group(nodes) }
}

/// Several nodes without an element around them.
public func group(@Markup _ content: () -> Node) -> Node { content() }
