// SPDX-License-Identifier: Apache-2.0

/// The answer to a question for which there is nothing to list.
enum NothingFound {
    /// Prints `sentence` in place of an empty list.
    ///
    /// - Throws: if no user of this machine is called `owner`: a misspelt name must not pass for a user whose jobs are all
    ///   well.
    static func tell(_ sentence: String, owner: String?) throws(Failure) {
        guard let owner, UInt32(owner) == nil, try LocalUser(named: owner) == nil else {
            return Output.tell(sentence)
        }
        throw Failure(.refused, "\(sentence), and no user is called '\(owner)' here")
    }
}
