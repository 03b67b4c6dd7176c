// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A month that is half a year away: what is due in it is due while no test runs, also at midnight and at a year's end.
let farMonth = (Calendar(identifier: .gregorian).component(.month, from: Date()) + 5) % 12 + 1
