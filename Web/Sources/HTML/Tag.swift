// SPDX-License-Identifier: Apache-2.0

/// The elements that pages are made of; no `script` with text in it, no `style`, no frame.
public enum Tag: String, Hashable, Sendable, CaseIterable {
    case html, head, title, meta, link, script, body
    case header, nav, main, footer, section, aside
    case h1, h2, h3, p, div, span, a, b, bdi, code, pre, time, br
    case figure, figcaption
    case ul, ol, li, dl, dt, dd
    case table, caption, thead, tbody, tr, th, td
    case form, fieldset, legend, label, input, button, select, option, textarea, datalist
    case details, summary
    case svg, rect, line, path, circle

    /// Whether it has neither content nor an end tag.
    var isVoid: Bool {
        switch self {
        case .meta, .link, .br, .input: true
        default: false
        }
    }

    /// Whether it may stand in the middle of a line, so that a break beside it would be a blank.
    var isInline: Bool {
        switch self {
        case .html, .head, .body, .title, .meta, .link, .script, .header, .nav, .main, .footer,
            .section, .table, .thead, .tbody, .tr, .ul, .ol, .dl, .form:
            false
        default: true
        }
    }
}
