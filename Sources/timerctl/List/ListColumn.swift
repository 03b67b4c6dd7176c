// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import TimerControl
import TimerWords

/// What `list` can tell of each job, by the names of `--columns`.
enum ListColumn: String, CaseIterable {
    case id, owner, name, state, next, last, schedule, zone, fires, tags, command

    /// Those that are shown unless somebody says otherwise.
    static let standard: [Self] = [.id, .name, .next, .last, .schedule, .command]

    static let words = allCases.map(\.rawValue).joined(separator: ", ")

    /// Reads names with commas between them.
    static func list(_ text: String) throws -> [Self] {
        let names = text.split(separator: ",", omittingEmptySubsequences: false)
        return try names.map { name in
            guard let column = Self(rawValue: name.lowercased()) else {
                throw ValidationError("--columns has '\(name)'; there are \(words)")
            }
            return column
        }
    }

    /// How soon the usual columns give way on a narrow terminal.
    var rank: Int {
        switch self {
        case .command: 5
        case .owner: 4
        case .schedule: 3
        case .last: 2
        default: 0
        }
    }

    var column: Table.Column {
        switch self {
        case .id: .init(title: "ID", isRightAligned: true)
        case .fires: .init(title: "FIRES", isRightAligned: true)
        case .name: .init(title: "NAME", narrowest: 8)
        case .schedule: .init(title: "SCHEDULE", narrowest: 8)
        case .tags: .init(title: "TAGS", narrowest: 8)
        case .command: .init(title: "COMMAND", narrowest: 8)
        case .next: .init(title: "NEXT FIRE")
        case .owner, .state, .last, .zone: .init(title: rawValue.uppercased())
        }
    }

    func cell(_ job: Job, _ dates: LocalDate) -> Table.Cell {
        let definition = job.definition
        return switch self {
        case .id: "\(job.id)"
        case .owner: .init(job.owner)
        case .name: .init(definition.name ?? "-")
        case .state: .init(job.held == nil ? job.state.rawValue : "held", job.state.style)
        case .next: List.next(job, dates)
        case .last: List.last(job, dates)
        case .schedule: .init(job.isReadable ? definition.schedule.words(dates) : "-")
        case .zone: .init(definition.schedule.tz ?? "-")
        case .fires: "\(job.fires)"
        case .tags: .init(definition.tags?.joined(separator: ",") ?? "-")
        case .command: .init(job.action)
        }
    }
}
