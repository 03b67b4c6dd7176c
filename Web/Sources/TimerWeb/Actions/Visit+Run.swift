// SPDX-License-Identifier: Apache-2.0

import HTML
import TimerControl
import TimerWords

extension Visit {
    /// Does something with one run.
    func carryOut(_ action: RunAction, _ id: RunID) async throws -> Answer {
        let page = Link("runs", "\(id)")
        do {
            return try await site.daemon.connected { session in
                let client = session.client
                switch action {
                case .kill:
                    let reply = try await client.call(
                        .killRun(KillRun(id)),
                        as: RunReply.self
                    )
                    return redirect(
                        to: page,
                        .done(
                            group {
                                "Run \(id) of "
                                Parts(self).jobName(reply.run.name, reply.run.job)
                                reply.run.state == .done
                                    ? " is not tried again." : " is being ended."
                            }
                        )
                    )
                case .retry:
                    let run = try await client.run(id)
                    let reply = try await client.fireJob(.id(run.job))
                    return redirect(
                        to: Link("jobs", "\(run.job)"),
                        .done(
                            group {
                                Parts(self).jobSentence(reply.job.definition.name, reply.job.id)
                                " was fired: it runs again."
                            }
                        )
                    )
                }
            }
        } catch let error as ControlError where error.reason != .notFound {
            return redirect(to: page, .refused(error.message))
        }
    }

    /// The page that says what an action will do.
    func question(_ action: RunAction, _ id: RunID, _ session: Session) async throws -> QuestionPage
    {
        let run = try await session.client.run(id)
        let name = run.name ?? "job \(run.job)"
        let shown = Parts(self).jobName(run.name, run.job)
        let question =
            switch action {
            case .kill where run.isTriedAgain:
                Question(
                    title: "Drop the next attempt of \(name)?",
                    heading: group {
                        "Drop the next attempt of "
                        shown
                        "?"
                    },
                    content: p {
                        "Its fire is over with run \(id), which has failed: nobody is told, and no command of onFailure begins. It cannot be undone."
                    },
                    action: Link("runs", "\(id)", action.rawValue),
                    button: "Drop it",
                    isDangerous: true,
                    cancel: Link("runs", "\(id)")
                )
            case .kill:
                Question(
                    title: "Kill run \(id) of \(name)?",
                    heading: group {
                        "Kill run \(id) of "
                        shown
                        "?"
                    },
                    content: p {
                        if let began = run.startedAt {
                            "It began "
                            Parts(self).when(began)
                            ". "
                        }
                        "Its processes get SIGTERM, and SIGKILL after what its job says (5 s). It is not tried again. It cannot be undone."
                    },
                    action: Link("runs", "\(id)", action.rawValue),
                    button: "Kill it",
                    isDangerous: true,
                    cancel: Link("runs", "\(id)")
                )
            case .retry:
                Question(
                    title: "Run \(name) again?",
                    heading: group {
                        "Run "
                        shown
                        " again?"
                    },
                    content: p {
                        "Its job fires once, now; one that has no other date is finished with that. It cannot be undone."
                    },
                    action: Link("runs", "\(id)", action.rawValue),
                    button: "Run again",
                    cancel: Link("runs", "\(id)")
                )
            }
        return QuestionPage(question, self, in: .runs)
    }
}
