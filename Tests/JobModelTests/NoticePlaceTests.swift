// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import JobModel

@Suite("Places of notices") struct NoticePlaceTests {
    @Test(
        "A place is read as it is typed, and told as it was",
        arguments: [
            ("mail", NoticePlace.mail(nil)),
            ("mail:ops@example.org", .mail("ops@example.org")),
            ("mail:a@b.example,root", .mail("a@b.example,root")),
            ("https://hooks.example/T0/secret?x=1", .web("https://hooks.example/T0/secret?x=1")),
            ("http://[::1]:8080/", .web("http://[::1]:8080/")),
            ("http://[fe80::1%25eth0]", .web("http://[fe80::1%25eth0]")),
            ("http://[::ffff:10.0.0.1]/", .web("http://[::ffff:10.0.0.1]/")),
            ("http://10.0.0.1:65535?x", .web("http://10.0.0.1:65535?x")),
            ("http://a:b:c@hooks.example:080/", .web("http://a:b:c@hooks.example:080/")),
            ("command:logger -t backup 'it broke'", .command("logger -t backup 'it broke'")),
            ("desktop", .desktop), ("none", .none),
            ("https://hooks.example/…#0a1b", .masked("https://hooks.example/…#0a1b")),
        ]
    )
    func places(text: String, place: NoticePlace) {
        #expect(NoticePlace(text) == place)
        #expect(place.text == text)
    }

    @Test(
        "What is no place is refused",
        arguments: [
            "", "mail:", "mail:a b@c", "mail:a@b,", "mail:a@b\nBcc: c@d", "mail:-oQ/tmp",
            "mail:<a@b>",
            "https://", "https:///x", "http://a b/", "http://:80/", "ftp://x/", "https://ex ample/",
            "https://hooks.example:none/", "http://h:65536/", "http://h:0/", "http://h:/",
            "http://h:+80/", "http://h:1:2/", "http://[::1/", "http://::1]/", "http://[]/",
            "http://[h]/", "http://[::1]80/", "http://[::1]:/", "http://[::1%]/", "http://[[::1]]/",
            "http://h]/", "http://::1/", "mail:" + String(repeating: "x", count: 255),
            "https://bücher.example/", "command:", "command:  ", "desktop:0", "ops@example.org",
        ]
    )
    func refused(text: String) {
        #expect(NoticePlace(text) == nil)
        #expect(throws: OptionRefusal.self) { try JobOption.notify.check(.texts([text])) }
    }

    @Test(
        "A URL is shown without its user, password, path and query",
        arguments: [
            ("https://hooks.example/services/T0/B0/secret", "https://hooks.example/…"),
            ("https://ann:secret@hooks.example:8443/x?secret", "https://hooks.example:8443/…"),
            ("http://a:secret@b@Hooks.Example/x", "http://hooks.example/…"),
            ("HTTPS://hooks.example?secret", "https://hooks.example/…"),
            ("https://hooks.example#secret", "https://hooks.example/…"),
        ]
    )
    func masked(url: String, shown: String) throws {
        #expect(NoticePlace.web(url).masked == shown)
        let reference = try #require(MaskedURL(of: url)).reference
        #expect(reference.hasPrefix(shown + "#") && !reference.contains("secret"))
        #expect(reference.utf8.count == shown.utf8.count + 5)
        #expect(MaskedURL.isMasked(reference) && !MaskedURL.isMasked(url))
    }

    @Test(
        "A URL with a slip is refused without what is secret in it, and with where the slip is",
        arguments: [
            (
                "http://u:PW@exämple.invalid/SECRET",
                "\"http://…\", whose character 15 stands in no URL"
            ),
            ("https://u:PW@host\\SECRET", "\"https://…\", whose host or port cannot be read"),
            (
                "https://u:P#W@hooks.example/SECRET",
                "\"https://…\", whose host or port cannot be read"
            ),
            (
                "https://u:P/W@hooks.example/SECRET",
                "\"https://…\", whose host or port cannot be read"
            ),
            (
                "https://u:P?W@hooks.example/SECRET",
                "\"https://…\", whose host or port cannot be read"
            ),
            ("https://u:1#W@host/SECRET", "\"https://…\", whose host or port cannot be read"),
            ("https://hooks.example:PW/", "\"https://…\", whose host or port cannot be read"),
            ("http://u:PW@host/SECRET x", "\"http://…\", whose character 24 stands in no URL"),
            ("http://u:PW@exämple.invalid/…", "\"http://…\", whose character 15 stands in no URL"),
            ("https://hooks.example/SECRET/…#3f9a", nil),
            ("htps://u:PW@host/SECRET", "\"htps://…\""),
            ("hooks.example/SECRET", "\"hooks.example/…\""),
            ("u:PW@hooks.example/SECRET", "\"…@hooks.example/…\""),
            ("https:/u:PW@host/SECRET", "\"https:/…\""), ("somewhere", "\"somewhere\""),
        ] as [(String, String?)]
    )
    func slips(text: String, found: String?) {
        for (option, value) in [
            (JobOption.notify, OptionValue.texts([text])), (.ping, .text(text)),
        ] {
            let refusal = #expect(throws: OptionRefusal.self) { try option.check(value) }
            let words = refusal?.description ?? ""
            #expect(!words.contains("PW") && !words.contains("SECRET"), "\(words)")
            if let found { #expect(words.contains(" is \(found), expected "), "\(words)") }
        }
        let shown = JobDefinition.reference(text)
        #expect(!shown.contains("PW") && !shown.contains("SECRET"), "\(shown)")
    }

    @Test("Two tokens of one host are seen to differ, and one is seen to be the same")
    func fingerprint() throws {
        let one = try #require(MaskedURL(of: "https://hooks.example/one"))
        #expect(one.reference == MaskedURL(of: "https://hooks.example/one")?.reference)
        #expect(one.reference != MaskedURL(of: "https://hooks.example/two")?.reference)
        let normal = try JobOption.notify.normal(.texts(["https://hooks.example/one", "desktop"]))
        #expect(normal == .texts(["desktop", one.reference]))
        #expect(try JobOption.notify.normal(.texts([one.reference, "desktop"])) == normal)
    }

    @Test("What a definition shows for a URL stands for it in a change of the same job alone")
    func references() throws {
        var job = JobDefinition(schedule: ScheduleWords(in: "1s"))
        job.notify = ["desktop", "https://hooks.example/secret"]
        job.ping = "https://ping.example/secret"
        let shown = job.masked
        #expect(!"\(shown)".contains("secret"))
        var changed = shown
        try changed.unmask(by: job)
        #expect(changed == job)

        let refusal = #expect(throws: OptionRefusal.self) {
            var other = shown
            try other.unmask(by: nil)
        }
        let reference = try #require(MaskedURL(of: "https://hooks.example/secret")).reference
        #expect(
            refusal?.description == "'notify[1]' is '\(reference)', which stands for a URL that "
                + "this job does not have, expected the whole URL"
        )
    }

    @Test("A URL that a change takes out is lost to who has seen its masked form alone")
    func lostURLs() {
        var job = JobDefinition(schedule: ScheduleWords(in: "1s"))
        job.notify = ["mail", "https://hooks.example/secret"]
        job.ping = "https://ping.example/secret"
        let shown = job.masked
        #expect(shown.optionsOfLostURLs(in: shown).isEmpty)
        // Typed as it is, it is there again.
        #expect(shown.optionsOfLostURLs(in: job).isEmpty)
        var changed = shown
        changed.notify = ["mail", "https://hooks.example/other"]
        #expect(shown.optionsOfLostURLs(in: changed) == ["notify"])
        (changed.notify, changed.ping) = (nil, nil)
        #expect(shown.optionsOfLostURLs(in: changed) == ["notify", "ping"])
        #expect(changed.optionsOfLostURLs(in: shown).isEmpty)
    }

    @Test("'none' stands alone")
    func nowhere() throws {
        try JobOption.notify.check(.texts(["none"]))
        #expect(throws: OptionRefusal.self) {
            try JobOption.notify.check(.texts(["none", "mail"]))
        }
    }

    @Test("A job has 8 places at most")
    func count() throws {
        try JobOption.notify.check(.texts(Array(repeating: "mail", count: 8)))
        let refusal = #expect(throws: OptionRefusal.self) {
            try JobOption.notify.check(.texts(Array(repeating: "mail", count: 9)))
        }
        #expect(refusal?.description == "'notify' has 9 places; at most 8 are accepted")
    }
}
