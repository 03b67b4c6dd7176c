// SPDX-License-Identifier: Apache-2.0

import Glibc

extension LibPQ {
    /// The library, or why there is none; looked for once in the life of the process.
    private static let found = Swift.Result<LibPQ, PostgresError> { () throws(PostgresError) in
        try LibPQ(named: "libpq.so.5")
    }

    /// The library.
    ///
    /// - Throws: `PostgresError` of the kind `noLibrary` where it is not installed, or too old.
    static func loaded() throws(PostgresError) -> LibPQ { try found.get() }

    init(named name: String) throws(PostgresError) {
        // It stays for good: what it gave has no end that is known here.
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            throw PostgresError(
                .noLibrary,
                "\(name) is not installed, which a connection with PostgreSQL needs: "
                    + "'apt install libpq5' (Debian, Ubuntu), 'dnf install libpq' (Fedora), "
                    + "'apk add libpq' (Alpine)"
            )
        }
        let symbols = Symbols(library: library, name: name)
        conninfoParse = try symbols.find("PQconninfoParse")
        conninfoFree = try symbols.find("PQconninfoFree")
        freemem = try symbols.find("PQfreemem")
        connectStartParams = try symbols.find("PQconnectStartParams")
        connectPoll = try symbols.find("PQconnectPoll")
        finish = try symbols.find("PQfinish")
        status = try symbols.find("PQstatus")
        transactionStatus = try symbols.find("PQtransactionStatus")
        errorMessage = try symbols.find("PQerrorMessage")
        setErrorVerbosity = try symbols.find("PQsetErrorVerbosity")
        setNoticeReceiver = try symbols.find("PQsetNoticeReceiver")
        connectionNeedsPassword = try symbols.find("PQconnectionNeedsPassword")
        serverVersion = try symbols.find("PQserverVersion")
        backendPID = try symbols.find("PQbackendPID")
        socket = try symbols.find("PQsocket")
        setnonblocking = try symbols.find("PQsetnonblocking")
        sendQuery = try symbols.find("PQsendQuery")
        sendQueryParams = try symbols.find("PQsendQueryParams")
        sendPrepare = try symbols.find("PQsendPrepare")
        sendQueryPrepared = try symbols.find("PQsendQueryPrepared")
        enterPipelineMode = try symbols.find("PQenterPipelineMode")
        exitPipelineMode = try symbols.find("PQexitPipelineMode")
        pipelineSync = try symbols.find("PQpipelineSync")
        sendFlushRequest = try symbols.find("PQsendFlushRequest")
        setSingleRowMode = try symbols.find("PQsetSingleRowMode")
        flush = try symbols.find("PQflush")
        consumeInput = try symbols.find("PQconsumeInput")
        isBusy = try symbols.find("PQisBusy")
        getResult = try symbols.find("PQgetResult")
        notifies = try symbols.find("PQnotifies")
        resultStatus = try symbols.find("PQresultStatus")
        resultErrorField = try symbols.find("PQresultErrorField")
        resultErrorMessage = try symbols.find("PQresultErrorMessage")
        clear = try symbols.find("PQclear")
        ntuples = try symbols.find("PQntuples")
        nfields = try symbols.find("PQnfields")
        ftype = try symbols.find("PQftype")
        getvalue = try symbols.find("PQgetvalue")
        getlength = try symbols.find("PQgetlength")
        getisnull = try symbols.find("PQgetisnull")
        cmdStatus = try symbols.find("PQcmdStatus")
        cmdTuples = try symbols.find("PQcmdTuples")
    }

    private struct Symbols {
        let library: UnsafeMutableRawPointer
        let name: String

        /// `Function`: as libpq-fe.h declares it, which nothing can check here.
        func find<Function>(_ symbol: String) throws(PostgresError) -> Function {
            guard let address = dlsym(library, symbol) else {
                throw PostgresError(
                    .noLibrary,
                    "\(name) is too old: it has no \(symbol); that of PostgreSQL 14 or newer is needed"
                )
            }
            return unsafeBitCast(address, to: Function.self)
        }
    }
}
