// SPDX-License-Identifier: Apache-2.0

/// A stable offset per job and fire date, so that jobs on one date spread and each keeps its place.
public enum Jitter {
    /// The offset of one fire, from 0 up to but not including `span`; 0 when the span is not
    /// positive.
    ///
    /// The same job and date always give the same offset, on every machine and in every version.
    /// Source: the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
    public static func offset(job: Int64, fireDate: Timestamp, within span: TimeSpan) -> TimeSpan {
        guard span.microseconds > 0 else { return .zero }
        let seed = mixed(UInt64(bitPattern: job) &+ 0x9e37_79b9_7f4a_7c15)
        let hash = mixed(seed ^ UInt64(bitPattern: fireDate.microseconds))
        // The upper half of the product is uniform over the span, without a division.
        let offset = hash.multipliedFullWidth(by: UInt64(span.microseconds)).high
        return TimeSpan(microseconds: Int64(offset))
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        var value = value
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}
