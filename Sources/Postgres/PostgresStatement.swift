// SPDX-License-Identifier: Apache-2.0

/// One statement of a pipeline.
package struct PostgresStatement: Sendable {
    package var sql: String
    package var parameters: [PostgresValue]
    /// Whether the server keeps its plan for the next time that this text is sent on the connection: for statements
    /// that are sent again and again.
    package var isPrepared: Bool
    /// Whether the pipeline's limit counts anew once it is sent, and once it is answered: for one of many that are a large change
    /// together, which may take as long as it has to while the server gets on with it.
    package var isPortion: Bool

    package init(
        _ sql: String,
        _ parameters: [PostgresValue] = [],
        isPrepared: Bool = false,
        isPortion: Bool = false
    ) {
        self.sql = sql
        self.parameters = parameters
        self.isPrepared = isPrepared
        self.isPortion = isPortion
    }
}

/// What another connection told with NOTIFY.
package struct PostgresNotification: Sendable, Equatable {
    package var channel: String
    package var payload: String
    /// Of the server's process that serves who told it: one's own are among them.
    package var backendPID: Int32
}
