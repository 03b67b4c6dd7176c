// SPDX-License-Identifier: Apache-2.0

extension ListJobs {
    func checkIDs() throws(ControlError) {
        guard let ids else { return }
        guard !ids.isEmpty else { throw .wrong("ids", "empty", "one id or more") }
        try checkCount(ids.count, Limits.page, "ids", "ids")
        var alone = ListJobs()
        (alone.ids, alone.limit, alone.cursor) = (ids, limit, cursor)
        guard self == alone else {
            throw ControlError(
                .invalidParams,
                "parameter 'ids' is beside another one than 'limit' and 'cursor', expected no other"
            )
        }
    }

    func checkSearch() throws(ControlError) {
        guard let search else { return }
        guard !search.isEmpty else {
            throw .wrong("search", "empty", "a part of a name or of a command, or a number")
        }
        try checkSize(search.utf8.count, Limits.words, "search")
    }

    func checkCursor() throws(ControlError) {
        let order = held == true ? .id : order
        var isOfThisOrder = true
        switch cursor {
        case nil: break
        case .id: isOfThisOrder = order != .nextFire
        case .fire, .idle: isOfThisOrder = order == .nextFire
        }
        guard isOfThisOrder else {
            throw ControlError(
                .invalidParams,
                "parameter 'cursor' is of another 'order' than this request has"
            )
        }
    }
}

extension AddJobs {
    private static let others: Set = ["jobs", "replace", "dryRun"]

    /// One definition beside `replace` and `dryRun`, or several under `jobs`.
    init(_ parameters: Parameters) throws(ControlError) {
        let replace = try parameters.optional(Bool.self, "replace") ?? false
        let dryRun = try parameters.optional(Bool.self, "dryRun") ?? false
        guard let list = parameters.members["jobs"] else {
            let definition = try parameters.definition(besides: Self.others)
            self.init(definition, replace: replace, dryRun: dryRun)
            try requireNameToReplace()
            return
        }
        try parameters.checkNames(among: Self.others, orNull: JobDefinition.fieldNames)
        let definitions = try Parameters.definitions(list, "jobs").map(\.definition)
        guard !definitions.isEmpty else { throw .wrong("jobs", "empty", "one definition or more") }
        self.init(definitions, replace: replace, dryRun: dryRun)
        try requireNameToReplace()
    }

    /// Whether `replace` has no effect: no job has a name.
    var replacesNothing: Bool { replace && !definitions.contains { $0.name != nil } }

    private func requireNameToReplace() throws(ControlError) {
        if replacesNothing { throw .wrong("replace", "true", "a 'name' beside it") }
    }
}

extension ApplyJobs {
    private static let lists: Set = ["invalidate", "change", "add"]

    init(_ parameters: Parameters) throws(ControlError) {
        try parameters.checkNames(among: Self.lists.union(["ifNoNewer", "dryRun", "upload"]))
        let ifNoNewer = try parameters.newest()
        let dryRun = try parameters.optional(Bool.self, "dryRun") ?? false
        guard parameters.members["upload"] == nil else {
            if let list = Self.lists.intersection(parameters.members.keys).min() {
                throw ControlError(
                    .invalidParams,
                    "expected at most one of 'upload', '\(list)'; both are given"
                )
            }
            self.init(ifNoNewer: ifNoNewer, dryRun: dryRun, upload: try parameters.upload())
            return
        }
        try self.init(listsOf: parameters)
        self.ifNoNewer = ifNoNewer
        self.dryRun = dryRun
    }

    /// The lists among `parameters`, with one job or more.
    fileprivate init(listsOf parameters: Parameters) throws(ControlError) {
        let ends = try parameters.ends()
        self.init(invalidate: ends.map(\.id).eachOnce)
        for end in ends where end.ifRevision != nil { ifRevisions[end.id] = end.ifRevision }
        if let list = parameters.members["change"] {
            let others: Set = ["id", "ifRevision"]
            for (part, definition) in try Parameters.definitions(list, "change", besides: others) {
                change.append(
                    JobRevision(
                        id: try part.required(JobID.self, "id"),
                        definition: definition,
                        ifRevision: try part.guarding(Int64.self, "ifRevision")
                    )
                )
            }
        }
        if let list = parameters.members["add"] {
            add = try Parameters.definitions(list, "add").map(\.definition)
        }
        guard count > 0 else {
            throw ControlError(
                .invalidParams,
                "expected one or more of 'add', 'change', 'invalidate' with a job in it"
            )
        }
        try checkCount(count, Limits.jobs, "jobs", "add, change and invalidate")
        try requireEachOnce()
    }

    /// Refuses to do two things to one job.
    public func requireEachOnce() throws(ControlError) {
        var seen: Set<JobID> = []
        for id in invalidate + change.map(\.id) where !seen.insert(id).inserted {
            let lists = [
                change.contains { $0.id == id } ? "'change'" : nil,
                invalidate.contains(id) ? "'invalidate'" : nil,
            ]
            throw ControlError(
                .invalidParams,
                "job \(id) is named twice in " + lists.compactMap(\.self).joined(separator: " and ")
            )
        }
    }
}

extension PutPart {
    init(_ parameters: Parameters) throws(ControlError) {
        try parameters.checkNames(among: ["upload", "part", "invalidate", "change", "add"])
        let part = try parameters.required(Int.self, "part")
        try checkRange(part, 0...Limits.uploadParts - 1, "part")
        self.init(
            upload: try parameters.upload(),
            part: part,
            jobs: try ApplyJobs(listsOf: parameters)
        )
    }
}

extension Parameters {
    /// The name of an upload, which is held to what a job's is.
    func upload() throws(ControlError) -> String {
        let name = try required(String.self, "upload")
        do throws(OptionRefusal) {
            try JobOption.name.check(.text(name))
        } catch {
            throw ControlError(.invalidParams, "parameter 'upload'" + error.predicate)
        }
        return name
    }

    fileprivate func newest() throws(ControlError) -> NewestTagged? {
        try requireNotNull("ifNoNewer", "a 'tag' and the newest job with it, or none at all")
        guard let value = members["ifNoNewer"] else { return nil }
        let newest = try Parameters(value, at: .key(.root, "ifNoNewer"))
        try newest.checkNames(among: ["tag", "id"])
        return NewestTagged(
            tag: try newest.required(String.self, "tag"),
            id: try newest.optional(JobID.self, "id")
        )
    }

    /// The jobs to end: each an id, or an object that also says which revision the job was read with.
    fileprivate func ends() throws(ControlError) -> [(id: JobID, ifRevision: Int64?)] {
        guard case .array(let elements)? = members["invalidate"],
            elements.contains(where: { if case .object = $0 { true } else { false } })
        else {
            return (try optional([JobID].self, "invalidate") ?? []).map { ($0, nil) }
        }
        var ends: [(id: JobID, ifRevision: Int64?)] = []
        ends.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            let isObject = if case .object = element { true } else { false }
            let end = try Parameters(
                isObject ? element : .object(["id": element]),
                at: .index(.key(.root, "invalidate"), index)
            )
            try end.checkNames(among: ["id", "ifRevision"])
            let id = try end.required(JobID.self, "id")
            ends.append((id, try end.guarding(Int64.self, "ifRevision")))
        }
        return ends
    }

    /// The definitions in a list, each with the parameters that it was read from.
    fileprivate static func definitions(
        _ list: JSONValue,
        _ name: String,
        besides others: Set<String> = []
    ) throws(ControlError) -> [(part: Parameters, definition: JobDefinition)] {
        guard case .array(let elements) = list else {
            throw .wrong(name, list.kind, "an array of definitions")
        }
        try checkCount(elements.count, Limits.jobs, "jobs", name)
        var definitions: [(part: Parameters, definition: JobDefinition)] = []
        definitions.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            let part = try Parameters(element, at: .index(.key(.root, name), index))
            definitions.append((part, try part.definition(besides: others)))
        }
        return definitions
    }
}
