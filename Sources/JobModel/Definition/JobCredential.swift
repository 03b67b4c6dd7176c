// SPDX-License-Identifier: Apache-2.0

/// Something secret that a run is given as a file: `NAME`, which the administrator has put down for the job's owner,
/// or `NAME:FILE`, which the owner can read.
package struct JobCredential: Hashable, Sendable {
    /// The name of the file in the folder of the run.
    package var name: String
    /// An absolute path; nil for what the administrator has put down.
    package var file: String?

    /// Reads it as it is typed; nil for what is none.
    ///
    /// A name is printable ASCII, as systemd has it, so that it is a file's name and nothing else.
    package init?(_ text: String) {
        let colon = text.firstIndex(of: ":")
        name = String(text[..<(colon ?? text.endIndex)])
        file = colon.map { String(text[text.index(after: $0)...]) }
        guard (1...Limits.name).contains(name.utf8.count), name != ".", name != "..",
            name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") })
        else { return nil }
        if let file {
            guard file.hasPrefix("/"), file.utf8.count <= Limits.path, !file.utf8.contains(0) else {
                return nil
            }
        }
    }
}
