// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the tests run on.
enum Machine {
    /// Whether everything takes many times as long, as under a sanitizer (`.ci/sanitize` says so):
    /// tests do fewer rounds of the same then.
    static let isSlow = ProcessInfo.processInfo.environment["TIMERD_SLOW"] != nil
}
