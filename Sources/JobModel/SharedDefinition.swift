// SPDX-License-Identifier: Apache-2.0

/// A job's definition, one for all copies of the job until one of them changes it.
///
/// A definition is half a kilobyte with two dozen references. A job is copied at each step of its way, and its
/// definition is changed seldom.
package struct SharedDefinition: Hashable, Sendable {
    /// `@unchecked`: what is shared is only read, as `_modify` makes another where any other copy has it.
    private final class Storage: @unchecked Sendable {
        var definition: JobDefinition

        init(_ definition: JobDefinition) { self.definition = definition }
    }

    private var storage: Storage

    package init(_ definition: JobDefinition) { storage = Storage(definition) }

    package var value: JobDefinition {
        // Lends the definition instead of a copy of it.
        _read { yield storage.definition }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.definition) }
            yield &storage.definition
        }
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.storage === right.storage || left.value == right.value
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
