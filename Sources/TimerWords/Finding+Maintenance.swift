// SPDX-License-Identifier: Apache-2.0

public import TimerControl

extension Finding {
    /// Whose jobs fire nothing until somebody ends that, of all whom the caller may know of; nil for nobody's.
    ///
    /// `since`: a date, as the reader sees dates.
    public static func maintenance(
        _ status: StatusReply,
        since: (StatusReply.Maintenance) -> String
    ) -> Self? {
        guard let all = status.maintenance, !all.isEmpty else { return nil }
        let named = all.prefix(5).map { "\($0.owner) since \(since($0))" }
        return .warning(
            "maintenance",
            "paused: all jobs of \(named.joined(separator: ", "))"
                + (all.count > 5 ? " and others" : ""),
            "timerctl maintenance off ends it; of another user, as root, with --owner"
        )
    }
}
