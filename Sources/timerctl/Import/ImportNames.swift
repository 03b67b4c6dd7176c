// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// The names under which imported jobs are added.
enum ImportNames {
    /// A name for each job, or nil where none is wanted; a number is added where another job has the name.
    ///
    /// `taken`: names that live jobs have.
    static func names(of wanted: [String?], taken: Set<ByteText>) -> [String?] {
        var used = taken
        // The number after that of the last job which wanted the name.
        var numbers: [ByteText: Int] = [:]
        return wanted.map { name in
            guard let name else { return nil }
            var number = numbers[ByteText(name)] ?? 1
            var candidate = number == 1 ? name : "\(name)-\(number)"
            while !used.insert(ByteText(candidate)).inserted {
                number += 1
                candidate = "\(name)-\(number)"
            }
            numbers[ByteText(name)] = number + 1
            return candidate
        }
    }
}

extension Daemon {
    /// The names, each with a number where another of them, or a live job, has it.
    func freeNames(_ wanted: [String?]) async throws(Failure) -> [String?] {
        var (asked, taken): (Set<ByteText>, Set<ByteText>) = ([], [])
        while true {
            let names = ImportNames.names(of: wanted, taken: taken)
            let new = Set(names.compactMap(\.self).map { ByteText($0) }).subtracting(asked)
            guard !new.isEmpty else { return names }
            taken.formUnion(try await jobs(named: new.map(\.wrappedValue)).keys)
            asked.formUnion(new)
        }
    }
}
