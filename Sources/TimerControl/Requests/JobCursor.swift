// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// Where a page of `job.list` ended; the next request gives it back as it came.
///
/// On the wire an integer, the last job's id; in the order of the next fires an object.
public enum JobCursor: Hashable, Sendable {
    /// All jobs up to this one have been listed.
    case id(JobID)
    /// All jobs that fire before this date have been listed, and those of this date up to this id.
    case fire(Timestamp, JobID)
    /// All jobs with a next fire have been listed, and of the others those up to this id.
    case idle(JobID)
}

extension JobCursor: Codable {
    private enum CodingKeys: String, CodingKey {
        case date, id
    }

    public init(from decoder: any Decoder) throws {
        // try?: a value that is no integer may be an object; what is neither is refused below.
        if let id = try? decoder.singleValueContainer().decode(JobID.self) {
            self = .id(id)
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let id = try container.decode(JobID.self, forKey: .id)
        let date = try container.decodeIfPresent(Timestamp.self, forKey: .date)
        self = date.map { .fire($0, id) } ?? .idle(id)
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .id(let id):
            var container = encoder.singleValueContainer()
            try container.encode(id)
        case .fire(let date, let id):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(date, forKey: .date)
            try container.encode(id, forKey: .id)
        case .idle(let id):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(id, forKey: .id)
        }
    }
}
