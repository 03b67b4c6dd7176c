// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerWords

@testable import TimerWeb

extension TestDaemon {
    /// A visit to a page that shows this daemon, for what makes a page without a server.
    func visit(_ link: Link = Link(), now: Timestamp = .now) -> Visit {
        let site = Site(
            access: Access(way: .loopback(port: 1)),
            options: WebOptions(socket: socket, listening: .port(0), zone: .utc)
        )
        let dates = LocalDate(now: now, zone: .utc)
        return Visit(link: link, form: [], back: nil, dates: dates, site: site)
    }
}

func text(_ node: Node) -> String { String(decoding: node.rendered, as: UTF8.self) }
