// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Removes a test's folder.
///
/// Again where a runner that ends has left a file in it meanwhile: a folder is read once, and then it has to be empty.
func removeFolder(_ path: String) {
    for _ in 1...200 {
        // try?: what is left is looked at below.
        try? FileManager.default.removeItem(atPath: path)
        guard FileManager.default.fileExists(atPath: path) else { return }
        usleep(10_000)
    }
}
