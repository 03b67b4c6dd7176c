// SPDX-License-Identifier: Apache-2.0

extension Tag {
    /// An element; attributes that are nil are left out: `p(.class("note")) { "text" }`.
    public func callAsFunction(
        _ attributes: Attribute?...,
        @Markup content: () -> Node = { .empty }
    ) -> Node {
        let content = content()
        return .element(self, attributes.compactMap(\.self), content == .empty ? [] : [content])
    }
}

// The elements by their names, so that a page reads as what it becomes.

public var html: Tag { .html }
public var head: Tag { .head }
public var meta: Tag { .meta }
public var link: Tag { .link }
public var script: Tag { .script }
public var body: Tag { .body }
public var header: Tag { .header }
public var nav: Tag { .nav }
public var main: Tag { .main }
public var footer: Tag { .footer }
public var section: Tag { .section }
public var aside: Tag { .aside }
public var h1: Tag { .h1 }
public var h2: Tag { .h2 }
public var h3: Tag { .h3 }
public var p: Tag { .p }
public var div: Tag { .div }
public var span: Tag { .span }
public var a: Tag { .a }
public var b: Tag { .b }
public var bdi: Tag { .bdi }
public var figure: Tag { .figure }
public var figcaption: Tag { .figcaption }
public var code: Tag { .code }
public var pre: Tag { .pre }
public var br: Tag { .br }
public var ul: Tag { .ul }
public var ol: Tag { .ol }
public var li: Tag { .li }
public var dl: Tag { .dl }
public var dt: Tag { .dt }
public var dd: Tag { .dd }
public var table: Tag { .table }
public var caption: Tag { .caption }
public var thead: Tag { .thead }
public var tbody: Tag { .tbody }
public var tr: Tag { .tr }
public var th: Tag { .th }
public var td: Tag { .td }
public var form: Tag { .form }
public var fieldset: Tag { .fieldset }
public var legend: Tag { .legend }
public var label: Tag { .label }
public var input: Tag { .input }
public var button: Tag { .button }
public var option: Tag { .option }
public var textarea: Tag { .textarea }
public var datalist: Tag { .datalist }
public var details: Tag { .details }
public var summary: Tag { .summary }
public var svg: Tag { .svg }
public var rect: Tag { .rect }
public var line: Tag { .line }
public var path: Tag { .path }
public var circle: Tag { .circle }

// Those whose names would be taken for something else.
public var pageTitle: Tag { .title }
public var timeElement: Tag { .time }

/// One whose tag or attributes are chosen at run time.
public func element(_ tag: Tag, _ attributes: [Attribute?], _ content: Node = .empty) -> Node {
    .element(tag, attributes.compactMap(\.self), content == .empty ? [] : [content])
}
