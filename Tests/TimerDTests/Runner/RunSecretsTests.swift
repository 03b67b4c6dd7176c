// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

@Suite("Files of credentials") struct RunSecretsTests {
    private let folder: TemporaryFolder
    private let ann = Account(
        uid: 70_001,
        gid: 70_001,
        groups: [],
        name: "ann",
        home: "/",
        shell: "/bin/sh"
    )

    init() throws { folder = try TemporaryFolder() }

    private func refusal(_ name: String, isOfAll: Bool = false) async -> String? {
        let secrets = SecretsFolder(path: folder.path, isOfAll: isOfAll)
        do throws(StartRefusal) {
            _ = try await secrets.secrets([name], of: ann)
            return nil
        } catch {
            return error.message
        }
    }

    @Test("Each user has a folder with a daemon of root's, and none with a user's own daemon")
    func places() {
        let both = ["token", "key:/srv/key"]
        let of = { SecretsFolder(path: "/c", isOfAll: $0).unchecked(both, of: ann) }
        #expect(of(true).map(\.path) == ["/c/ann/token", "/srv/key"])
        #expect(of(false).map(\.path) == ["/c/token", "/srv/key"])
        #expect(of(true).map(\.isAdministrators) == [true, false])
        #expect(of(true).map(\.name) == ["token", "key"])
    }

    @Test("A file that others can read, or a folder that others can change, is not believed")
    func trust() async throws {
        let path = folder.file("token")
        #expect(close(open(path, O_CREAT | O_WRONLY, 0o600)) == 0)
        #expect(await refusal("token") == nil)
        #expect(chmod(path, 0o604) == 0)
        #expect(await refusal("token")?.contains("accepted is mode 0600 or 0400") == true)
        #expect(chmod(path, 0o600) == 0 && chmod(folder.path, 0o777) == 0)
        #expect(await refusal("token")?.contains("everybody can write to") == true)
        // Whether a file is there is not told either: its name may lead anywhere.
        #expect(await refusal("none")?.contains("everybody can write to") == true)
        #expect(chmod(folder.path, 0o700) == 0)
        let missing = await refusal("none")
        #expect(
            missing
                == "cannot read credential 'none' from '\(folder.path)/none': no such file or directory"
        )
        #expect(symlink("/etc/hostname", folder.file("link")) == 0)
        #expect(await refusal("link")?.contains("others than its owner") == true)
    }

    @Test(
        "A credential is a name, perhaps with a path",
        arguments: [
            ("token", "token", nil), ("a.b-c_d", "a.b-c_d", nil), ("a:/b:c", "a", "/b:c"),
            ("a:", nil, nil), ("a:b", nil, nil), (":/b", nil, nil), ("a b", nil, nil),
            ("ä", nil, nil), ("..:/b", nil, nil), ("a\0:/b", nil, nil), ("a:/b\0", nil, nil),
        ] as [(String, String?, String?)]
    )
    func reading(text: String, name: String?, file: String?) {
        let credential = JobCredential(text)
        #expect(credential?.name == name && credential?.file == file)
    }
}
