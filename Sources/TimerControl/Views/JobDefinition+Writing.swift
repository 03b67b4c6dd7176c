// SPDX-License-Identifier: Apache-2.0

import Schedules

extension JobDefinition: JSONWritable {
    /// What stands in a definition, in the order of the bytes of the names.
    fileprivate enum Member {
        case schedule
        case option(JobOption)

        static let all = (JobOption.fields.map(Member.option) + [.schedule]).sorted {
            $0.name.utf8.lexicographicallyPrecedes($1.name.utf8)
        }

        var name: String {
            switch self {
            case .schedule: "schedule"
            case .option(let option): option.rawValue
            }
        }
    }

    func write(to writer: inout JSONWriter) { words.write(to: &writer, without: nil) }

    /// The definition as it is stored: without its userInfo, and equal for equal values.
    package var storedText: String {
        var writer = JSONWriter(capacity: 512)
        words.write(to: &writer, without: .userInfo)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

}

extension JobDefinition.Words {
    fileprivate func write(to writer: inout JSONWriter, without omitted: JobOption?) {
        writer.object { writer in
            for member in JobDefinition.Member.all {
                switch member {
                case .schedule: writer.member("schedule", schedule)
                case .option(let option): if option != omitted { write(option, to: &writer) }
                }
            }
        }
    }

    fileprivate func write(_ option: JobOption, to writer: inout JSONWriter) {
        guard let value = self[option] else { return }
        writer.key(option.rawValue)
        writer.write(value)
    }
}

extension ScheduleWords: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("at", at)
            writer.member("calendar", calendar)
            writer.member("cron", cron)
            writer.member("every", every)
            writer.member("from", from)
            writer.member("in", self.in)
            writer.member("tz", tz)
        }
    }
}

extension Job: JSONWritable {
    /// What stands in a job, in the order of the bytes of the names: its own fields, and those of its definition.
    private enum Member {
        case schedule
        case option(JobOption)
        case field(CodingKeys)

        static let all =
            (JobOption.fields.map(Member.option) + CodingKeys.allCases.map(Member.field)
            + [.schedule])
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }

        var name: String {
            switch self {
            case .schedule: "schedule"
            case .option(let option): option.rawValue
            case .field(let field): field.rawValue
            }
        }
    }

    func write(to writer: inout JSONWriter) { write(definition.words, to: &writer) }

    /// `words`: those of its definition, which are asked for once, not for each member.
    private func write(_ words: JobDefinition.Words, to writer: inout JSONWriter) {
        writer.object { writer in
            for member in Member.all {
                switch member {
                case .schedule: writer.member("schedule", words.schedule)
                case .option(let option): words.write(option, to: &writer)
                case .field(let field): write(field, to: &writer)
                }
            }
        }
    }

    private func write(_ field: CodingKeys, to writer: inout JSONWriter) {
        let name = field.rawValue
        switch field {
        case .id: writer.member(name, id)
        case .owner: writer.member(name, owner)
        case .state: writer.member(name, state)
        case .fireDate: writer.member(name, fireDate)
        case .dueDate: writer.member(name, dueDate)
        case .movedFrom: writer.member(name, movedFrom)
        case .fires: writer.member(name, fires)
        case .addedAt: writer.member(name, addedAt)
        case .endedAt: writer.member(name, endedAt)
        case .endReason: writer.member(name, endReason)
        case .endedBy: writer.member(name, endedBy)
        case .last: writer.member(name, last)
        case .held: writer.member(name, held)
        case .revision: writer.member(name, revision == 1 ? nil : revision)
        case .maintenance: writer.member(name, maintenance ? true : nil)
        case .stored:
            guard let stored else { return }
            writer.key(name)
            writer.write(stored)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ value: OptionValue) {
        switch value {
        case .text(let text): writeString(text)
        case .texts(let texts): array(texts) { $0.writeString($1) }
        case .variables, .integers: write(JSONValue(value))
        case .integer(let number): write(Int64(number))
        case .flag(let flag): write(flag)
        case .json(let text): write(text)
        }
    }
}
