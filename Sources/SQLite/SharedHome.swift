// SPDX-License-Identifier: Apache-2.0

/// Where is kept what several hosts share, of which the local database is a copy.
///
/// Used on the thread of the connection that writes.
package protocol SharedHome: AnyObject {
    /// Notes from here on which rows the transaction changes that has just begun.
    func begin(_ database: Database) throws(DatabaseError)

    /// Stores what the transaction has changed, and returns once it is durable.
    ///
    /// - Throws: if it is not, and surely will not be; the caller undoes it in the copy too. After `loss` is set nothing is
    ///   stored any more.
    func commit(_ database: Database) throws(DatabaseError)

    /// Forgets what the transaction has changed, which is undone.
    func abandon()

    /// Stores nothing any more, for that reason.
    func lose(_ reason: DatabaseError)

    /// Why nothing can be stored any more: another node leads by now, or what is stored cannot be known.
    var loss: DatabaseError? { get }
}
