// SPDX-License-Identifier: Apache-2.0

/// Reads a list of the daemon for one page of ours.
///
/// A page of the daemon ends where it has looked at many rows, also where few of them or none match: only a missing
/// cursor says that there is no more.
enum ListReader {
    /// How many pages of the daemon one of ours looks at; who wants more goes on from the cursor.
    static let most = 20

    /// Reads page after page until there are `enough` rows, no more rows, or enough was looked at.
    ///
    /// `read`: asks for the page that begins at a cursor; answers what is wanted of it, and its cursor.
    static func rows<Row, Cursor>(
        _ enough: Int = 1,
        from cursor: Cursor?,
        _ read: (Cursor?) async throws -> ([Row], Cursor?)
    ) async rethrows -> (rows: [Row], cursor: Cursor?) {
        var (all, next) = try await read(cursor)
        var looked = 1
        while next != nil, all.count < enough, looked < most {
            let (more, following) = try await read(next)
            all += more
            next = following
            looked += 1
        }
        return (all, next)
    }
}
