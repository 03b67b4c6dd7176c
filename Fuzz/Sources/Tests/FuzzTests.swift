// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("Fuzz") struct FuzzTests {
    @Test("What was found once is not found again", arguments: FuzzTarget.allCases)
    func corpus(target: FuzzTarget) throws {
        for input in try target.corpus() {
            #expect(
                throws: Never.self,
                "\(String(decoding: input, as: UTF8.self).debugDescription)"
            ) {
                try target.check(input)
            }
        }
    }

    @Test(
        "The properties hold for two thousand mutations of the corpus",
        arguments: FuzzTarget.allCases
    )
    func mutations(target: FuzzTarget) throws {
        var mutation = Mutation(of: try target.corpus(), seed: 1)
        for _ in 0..<2000 {
            let input = mutation.next()
            #expect(
                throws: Never.self,
                "\(String(decoding: input, as: UTF8.self).debugDescription)"
            ) {
                try target.check(input)
            }
        }
    }
}
