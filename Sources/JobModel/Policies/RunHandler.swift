// SPDX-License-Identifier: Apache-2.0

/// A command that is run once when a fire is over: no attempt of the job's own, and nothing follows it.
package enum RunHandler: Int, Hashable, Sendable, CaseIterable {
    /// The fire has failed for good.
    case onFailure = 1
    /// The fire has succeeded.
    case onSuccess = 2

    /// What the job has for it; nil for nothing.
    package func command(of definition: JobDefinition) -> [String]? {
        switch self {
        case .onFailure: definition.onFailure
        case .onSuccess: definition.onSuccess
        }
    }

    /// What a fire waits for whose handler is to begin.
    package var wait: FireWait {
        switch self {
        case .onFailure: .onFailure
        case .onSuccess: .onSuccess
        }
    }
}
