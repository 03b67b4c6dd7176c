// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A file that a run waits for.
struct FileGate {
    let path: String

    init(_ daemon: DaemonProcess, _ name: String) { path = daemon.folder + "/" + name }

    /// The words of a shell that wait for it.
    var wait: String { "while [ ! -e \(path) ]; do sleep 0.02; done" }

    func open() { _ = FileManager.default.createFile(atPath: path, contents: nil) }
}
