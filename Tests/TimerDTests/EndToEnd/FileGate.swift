// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A file that a run waits for.
struct FileGate {
    let path: String

    init(_ daemon: DaemonProcess, _ name: String) { path = daemon.folder + "/" + name }

    /// The words of a shell that wait for it; without end only while the test's folder is there, as a
    /// run goes on where its daemon is killed.
    var wait: String {
        let folder = (path as NSString).deletingLastPathComponent
        return "while [ ! -e \(path) ] && [ -d \(folder) ]; do sleep 0.02; done"
    }

    func open() { _ = FileManager.default.createFile(atPath: path, contents: nil) }
}
