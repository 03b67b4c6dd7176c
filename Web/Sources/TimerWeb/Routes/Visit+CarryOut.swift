// SPDX-License-Identifier: Apache-2.0

extension Visit {
    /// Does what a form asks for.
    func carryOut(_ route: Route) async throws -> Answer {
        switch route {
        case .actOnJob(let id, let action): try await carryOut(action, id)
        case .actOnRun(let id, let action): try await carryOut(action, id)
        case .actOnJobs: try await actOnJobs()
        case .add: try await carryOutForm(changing: nil)
        case .change(let id): try await carryOutForm(changing: id)
        case .actOnQueue(let name, let action): try await carryOut(action, name)
        default: throw NotFound(description: "there is nothing to be done here")
        }
    }
}
