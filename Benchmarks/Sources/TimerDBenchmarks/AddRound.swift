// SPDX-License-Identifier: Apache-2.0

/// All kinds of adding, each once, in turns.
struct AddRound: Sendable {
    enum Kind: CaseIterable {
        case rawOne, one, eight, pipelined, rawHundred, batches, rawThousand, largeBatches

        /// Nil for raw SQLite.
        var load: AddLoad? {
            switch self {
            case .rawOne, .rawHundred, .rawThousand: nil
            case .one: .oneClient
            case .eight: .eightClients
            case .pipelined: .eightPipelined
            case .batches: .batches
            case .largeBatches: .largeBatches
            }
        }

        /// Rows a commit of raw SQLite, of it or of what it is held against.
        var perCommit: Int {
            switch self {
            case .rawOne, .one, .eight, .pipelined: 1
            case .rawHundred, .batches: 100
            case .rawThousand, .largeBatches: 1000
            }
        }

        /// What it is held against.
        var raw: Kind {
            switch perCommit {
            case 1: .rawOne
            case 100: .rawHundred
            default: .rawThousand
            }
        }
    }

    private var results: [Kind: AddLoad.Result] = [:]

    func rate(_ kind: Kind) -> Double { results[kind]?.rate ?? .nan }
    func cost(_ kind: Kind) -> Double { results[kind]?.cost ?? .nan }
    func clientCost(_ kind: Kind) -> Double { results[kind]?.clientCost ?? .nan }

    /// Each round has an order of its own: whoever follows the heaviest writer has a slower disk.
    static func measure(
        _ number: Int,
        _ shape: JobShape,
        on daemon: DaemonProcess,
        _ raw: RawLoad,
        seconds: Double
    ) async throws -> AddRound {
        var round = AddRound()
        var random = SplitMix(seed: UInt64(number))
        for kind in Kind.allCases.shuffled(using: &random) {
            if let load = kind.load {
                let load = load.shaped(shape)
                round.results[kind] = try await load.run(on: daemon, seconds: seconds)
            } else {
                let result = try await raw.inserts(
                    perCommit: kind.perCommit,
                    seconds: seconds,
                    shape: shape
                )
                round.results[kind] = AddLoad.Result(
                    rate: result.rate,
                    cost: result.cost,
                    clientCost: .nan
                )
            }
        }
        return round
    }
}
