// SPDX-License-Identifier: Apache-2.0

import Cluster
import Postgres

extension PostgresError {
    /// The same, with who was in the way of what had no answer.
    func behind(_ holder: LockHolder?) -> Self {
        guard let holder else { return self }
        var error = self
        error.message += ": \(holder.words)"
        return error
    }
}
