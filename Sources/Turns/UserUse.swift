// SPDX-License-Identifier: Apache-2.0

/// What a user's connections take together.
struct UserUse {
    /// Requests in progress.
    var requests = 0
    /// Bytes that are held, but for `unread`.
    var bytes = 0
    /// Of `bytes`: what workers and watchers hold for as long as they like, and `read`.
    var lasting = 0
    /// Of `lasting`: lines that were read, whose requests have not begun.
    var read = 0
    /// Bytes of lines that wait to be read.
    var unread = 0
    /// Places of the kinds `write`, `lookup` and `remote`, of which a user may have a part.
    var writes = 0
    var lookups = 0
    var remotes = 0

    var isEmpty: Bool {
        requests == 0 && bytes == 0 && lasting == 0 && read == 0 && unread == 0 && writes == 0
            && lookups == 0 && remotes == 0
    }

    mutating func countPlaces(_ count: Int, _ kind: RequestLoad.Kind) {
        switch kind {
        case .write: writes += count
        case .lookup: lookups += count
        case .remote: remotes += count
        default: break
        }
    }
}
