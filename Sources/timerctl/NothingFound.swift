// SPDX-License-Identifier: Apache-2.0

/// The answer to a question for which there is nothing to list.
enum NothingFound {
    /// Prints `sentence`, as no list is an answer too.
    ///
    /// - Throws: if `owner`, whose the list was to be, is no user of this machine: a misspelt name must not pass for one
    ///   whose jobs are all well.
    static func tell(_ sentence: String, owner: String?) throws(Failure) {
        guard let owner, UInt32(owner) == nil, LocalUser(named: owner) == nil else {
            return Output.tell(sentence)
        }
        throw Failure(.refused, "\(sentence), and no user is called '\(owner)' here")
    }
}
