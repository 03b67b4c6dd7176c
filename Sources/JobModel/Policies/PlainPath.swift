// SPDX-License-Identifier: Apache-2.0

/// The PATH of runs whose job sets none.
package enum PlainPath {
    package static let folders = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}
