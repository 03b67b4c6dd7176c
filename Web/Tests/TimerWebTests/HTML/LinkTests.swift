// SPDX-License-Identifier: Apache-2.0

import HTML
import Testing

@Suite struct LinkTests {
    @Test(
        "A link stays on this site, whatever its parts are",
        arguments: [
            (Link("jobs", "7"), "/jobs/7"),
            (Link(), "/"),
            (Link("queues", "a/b?c#d"), "/queues/a%2Fb%3Fc%23d"),
            (Link("javascript:alert(1)"), "/javascript%3Aalert%281%29"),
            (Link("jobs").with("q", "a&b=c +\"").with("tag", nil), "/jobs?q=a%26b%3Dc%20%2B%22"),
            (Link("x", fragment: "f-name"), "/x#f-name"),
            // A browser would leave these out, with what stands in front.
            (Link("queues", ".."), "/queues/~.."),
            (Link("queues", ".", "pause"), "/queues/~./pause"),
            (Link("queues", "~.."), "/queues/~~.."), (Link("queues", "~a"), "/queues/~a"),
            (Link("queues", "..."), "/queues/..."),
        ]
    )
    func text(_ link: Link, _ expected: String) {
        #expect(link.text == expected)
    }

    @Test("A path that begins with nothing does not become another host")
    func noHost() {
        #expect(!Link("", "evil.example").text.hasPrefix("//"))
    }

    @Test(
        "An address that is not one of this site is none",
        arguments: [
            "//evil.example/", "http://evil.example/", "/\\evil.example", "jobs", "", "/%zz",
            "/%ff",
            "/x?a=%",
        ]
    )
    func refused(_ text: String) {
        #expect(Link(parsing: text) == nil)
    }

    @Test(
        "What is written is read again",
        arguments: [
            Link(), Link("jobs", "7", "end"), Link("queues", "a/b ü"), Link("queues", ".."),
            Link("queues", ".", "pause"), Link("queues", "~~.."), Link("queues", "~..."),
            Link("jobs").with("q", "x y&z=+%").with("tag", "🕰️"),
        ]
    )
    func roundTrip(_ link: Link) {
        #expect(Link(parsing: link.text) == link)
    }

    @Test("Of a form that cannot be read for its marks it is said which field has them")
    func manyMarks() {
        let marks = String(repeating: "%CC%81", count: 65)
        #expect(PercentCoding.fields("a=1&schedule=e\(marks)") == nil)
        #expect(
            PercentCoding.tooManyMarks(in: "a=1&schedule=e\(marks)&%zz")
                == "its field 'schedule' has more marks in a row that combine with one character, as accents do, than are accepted"
        )
        #expect(PercentCoding.tooManyMarks(in: "a=1&b=%zz") == nil)
        #expect(PercentCoding.tooManyMarks(in: "a=e\(marks.dropLast(6))") == nil)
    }

    @Test("A form's plus is a blank, and a field may be there twice, or without a value")
    func fields() {
        #expect(
            PercentCoding.fields("a=1+2&a=%2B&b&c=d=e")
                == [.init("a", "1 2"), .init("a", "+"), .init("b", ""), .init("c", "d=e")]
        )
        #expect(PercentCoding.fields("a=%4") == nil)
    }

    @Test("Too many marks in a row are read nowhere: to compare them would keep all who ask")
    func marks() {
        let row = String(repeating: "%CC%95%CC%80", count: 32)
        #expect(PercentCoding.fields("a=\(row)")?.count == 1)
        #expect(PercentCoding.fields("a=\(row)%CC%95") == nil)
        #expect(PercentCoding.fields("\(row)%CC%95=a") == nil)
        // What a field holds may be JSON.
        #expect(PercentCoding.fields("a=" + String(repeating: "%5Cu0315", count: 65)) == nil)
        #expect(Link(parsing: "/a\(row)%CC%95") == nil)
    }
}
