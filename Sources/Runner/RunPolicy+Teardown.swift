// SPDX-License-Identifier: Apache-2.0

package import JobModel

extension RunPolicy {
    /// How its runs are ended.
    package var teardown: Teardown { .terminate(killAfter: killAfter.duration) }
}
