// SPDX-License-Identifier: Apache-2.0

extension Run {
    /// Which handler of its job it ran; nil for the job's own command, and for none.
    package var handler: RunHandler? {
        get { RunHandler(onFailure: onFailure, onSuccess: onSuccess) }
        set { (onFailure, onSuccess) = RunHandler.flags(of: newValue) }
    }
}

extension Event {
    /// The same of the run that it tells of.
    package var handler: RunHandler? {
        get { RunHandler(onFailure: onFailure, onSuccess: onSuccess) }
        set { (onFailure, onSuccess) = RunHandler.flags(of: newValue) }
    }
}

extension RunHandler {
    fileprivate init?(onFailure: Bool?, onSuccess: Bool?) {
        if onFailure == true {
            self = .onFailure
        } else if onSuccess == true {
            self = .onSuccess
        } else {
            return nil
        }
    }

    fileprivate static func flags(of handler: Self?) -> (onFailure: Bool?, onSuccess: Bool?) {
        (handler == .onFailure ? true : nil, handler == .onSuccess ? true : nil)
    }
}
