// SPDX-License-Identifier: Apache-2.0

import Schedules

extension JobDefinition {
    /// Reads a definition as it is stored; nil where the decoder has to.
    package init?(quickly storedText: String) {
        var reader = QuickReader(Array(storedText.utf8))
        do throws(QuickReader.Unusual) {
            self = try reader.definition(QuickReader.Draft(.stored, isChecked: false))
            try reader.requireEnd()
        } catch {
            return nil
        }
    }
}

extension QuickReader {
    /// Options by the names under which they stand in an object.
    struct OptionTable {
        struct Row {
            var option: JobOption
            var form: OptionForm
            var shape: OptionForm.Shape
        }

        /// In the order of the rows.
        private let names: [Name]
        private let rows: [Row]

        init(_ options: [JobOption]) {
            // An option whose name is too long would be read by the decoder; a test finds it.
            let named = options.compactMap { option in Name(option.rawValue).map { ($0, option) } }
            names = named.map(\.0)
            rows = named.map { Row(option: $1, form: $1.form, shape: $1.form.shape) }
        }

        /// The place of a name in the table.
        func index(of name: Name) -> Int? { names.firstIndex(of: name) }

        subscript(index: Int) -> Row { rows[index] }

        static let fields = Self(JobOption.fields)
        /// userInfo is stored beside the definition.
        static let stored = Self(JobOption.fields.filter { $0 != .userInfo })
        static let schedule = Self(JobOption.allCases.filter(\.isOfSchedule))
    }

    fileprivate static let schedule = Name("schedule")

    /// A definition of which some members have been read.
    struct Draft {
        private let table: OptionTable
        private let isChecked: Bool
        private var words = JobDefinition.Words(schedule: ScheduleWords())
        private var seen = Seen()
        private var hasSchedule = false

        /// `isChecked`: whether each option is checked, as `JobDefinition.check()` does.
        init(_ table: OptionTable = .fields, isChecked: Bool = true) {
            (self.table, self.isChecked) = (table, isChecked)
        }

        /// Whether nothing was read.
        var isEmpty: Bool { seen.isEmpty && !hasSchedule }

        /// Reads the value of a member; false if it is none of a definition.
        mutating func read(_ name: Name, _ reader: inout QuickReader) throws(Unusual) -> Bool {
            if let index = table.index(of: name) {
                try seen.add(index)
                try reader.read(table[index], into: &words, isChecked)
            } else if name == QuickReader.schedule, !hasSchedule {
                hasSchedule = true
                try readSchedule(&reader)
            } else {
                return false
            }
            return true
        }

        private mutating func readSchedule(_ reader: inout QuickReader) throws(Unusual) {
            let table = OptionTable.schedule
            var seen = Seen()
            try reader.object { (reader, name) throws(Unusual) in
                guard let index = table.index(of: name) else { throw Unusual() }
                try seen.add(index)
                try reader.read(table[index], into: &words, isChecked)
            }
        }

        /// The definition; one without a schedule is none.
        consuming func finished() throws(Unusual) -> JobDefinition {
            guard hasSchedule else { throw Unusual() }
            return JobDefinition(words)
        }
    }

    /// Reads an object that is a definition and nothing else.
    mutating func definition(_ draft: Draft = Draft()) throws(Unusual) -> JobDefinition {
        var draft = draft
        try object { (reader, name) throws(Unusual) in
            guard try draft.read(name, &reader) else { throw Unusual() }
        }
        return try draft.finished()
    }

    fileprivate mutating func read(
        _ row: OptionTable.Row,
        into words: inout JobDefinition.Words,
        _ isChecked: Bool
    ) throws(Unusual) {
        let value = try value(of: row.shape)
        do throws(OptionRefusal) {
            if isChecked { try row.option.check(value, as: row.form) }
            try words.set(row.option, value)
        } catch {
            throw Unusual()
        }
    }

    private mutating func value(of shape: OptionForm.Shape) throws(Unusual) -> OptionValue {
        switch shape {
        case .text: .text(try string())
        case .texts: .texts(try strings())
        case .variables: .variables(try variables())
        case .integer: .integer(Int(try integer()))
        case .integers: .integers(try integers().map { Int($0) })
        case .flag: .flag(try flag())
        case .json: .json(try text())
        }
    }

    /// Which members of an object have been read: none may stand there twice.
    struct Seen {
        private var bits: UInt64 = 0

        var isEmpty: Bool { bits == 0 }

        mutating func add(_ index: Int) throws(Unusual) {
            let bit = UInt64(1) << UInt64(index)
            guard bits & bit == 0 else { throw Unusual() }
            bits |= bit
        }
    }
}
