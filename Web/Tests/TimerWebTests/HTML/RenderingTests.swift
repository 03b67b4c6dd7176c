// SPDX-License-Identifier: Apache-2.0

import HTML
import Testing

@Suite struct RenderingTests {
    private func text(_ node: Node) -> String { String(decoding: node.rendered, as: UTF8.self) }

    @Test(
        "Text is shown as it is, whatever it holds",
        arguments: [
            ("plain", "plain"),
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("a & b &amp; c", "a &amp; b &amp;amp; c"),
            ("\"quotes' stay", "\"quotes' stay"),
            ("\u{1b}[31m\u{7}", "␛[31m␇"),
            ("a\u{202e}b", "a\u{fffd}b"),
            ("two\nlines\tand", "two\nlines\tand"),
            ("a\u{0}b\rc", "a␀b␍c"),
            ("👩‍👩‍👧 שלום", "👩‍👩‍👧 שלום"),
        ]
    )
    func textIsEscaped(_ given: String, _ expected: String) {
        #expect(text(.text(given)) == expected)
    }

    @Test(
        "An attribute's value cannot leave its quotes",
        arguments: [
            ("\" onclick=\"alert(1)", "&quot; onclick=&quot;alert(1)"),
            ("'<>&", "&#39;&lt;&gt;&amp;"),
            ("a\nb", "a&#10;b"),
        ]
    )
    func attributesAreEscaped(_ given: String, _ expected: String) {
        #expect(text(input(.value(given))) == "<input value=\"\(expected)\">")
    }

    @Test("Elements, attributes that may lack, and lists become markup in order")
    func elements() {
        let node = ul(.class("x"), nil, .flag("hidden", false), .flag("inert")) {
            for word in ["a", "b"] { li { word } }
            if false { li { "never" } }
        }
        #expect(text(node) == "<ul class=\"x\" inert><li>a</li><li>b</li></ul>\n")
    }

    @Test("The first break of a textarea and of a pre is kept")
    func firstBreak() {
        #expect(text(textarea { "\nx" }) == "<textarea>\n&#10;x</textarea>")
        #expect(text(pre { "\nx" }) == "<pre>\n\nx</pre>")
    }

    @Test(
        "What is in a field is what it was, for it comes back; what is read aloud is shown as text"
    )
    func fields() {
        #expect(text(textarea { "a\u{202e}<b" }) == "<textarea>\na\u{202e}&lt;b</textarea>")
        #expect(
            text(input(.value("\u{202e}"), .aria("label", "\u{202e}")))
                == "<input value=\"\u{202e}\" aria-label=\"\u{fffd}\">"
        )
        #expect(
            text(
                div {
                    textarea()
                    "\u{7}"
                }
            ) == "<div><textarea>\n</textarea>␇</div>"
        )
    }

    @Test("A document says what it is")
    func document() {
        #expect(
            String(decoding: html { "x" }.document, as: UTF8.self).hasPrefix(
                "<!DOCTYPE html>\n<html>"
            )
        )
    }
}
