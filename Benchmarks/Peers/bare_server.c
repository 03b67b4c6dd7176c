/* SPDX-License-Identifier: Apache-2.0 */

/* What one client of a server could reach that does nothing but store: it reads a line, inserts one row durably, and answers.
 *
 *     cc -O2 -o /tmp/bare_server Benchmarks/Peers/bare_server.c -lsqlite3
 *     /tmp/bare_server FILE [COUNT]      makes the database FILE anew, on the disk that is to be measured
 *
 * Prints the rate of the same rows without a server, then that of the server with its processor time for each row. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const setup = "pragma journal_mode=wal; pragma synchronous=full;"
                                 "create table if not exists t(id integer primary key, a text)";
static char text[337];

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static sqlite3_stmt *insertion(const char *path) {
    sqlite3 *database;
    sqlite3_stmt *statement;
    if (sqlite3_open(path, &database) || sqlite3_exec(database, setup, NULL, NULL, NULL) ||
        sqlite3_prepare_v2(database, "insert into t(a) values(?)", -1, &statement, NULL)) {
        fprintf(stderr, "bare_server: '%s': %s\n", path, sqlite3_errmsg(database));
        exit(1);
    }
    return statement;
}

static void insert(sqlite3_stmt *statement) {
    sqlite3_bind_text(statement, 1, text, sizeof text, SQLITE_STATIC);
    if (sqlite3_step(statement) != SQLITE_DONE) {
        fprintf(stderr, "bare_server: a row could not be stored\n");
        exit(1);
    }
    sqlite3_reset(statement);
}

static void serve(int client, sqlite3_stmt *statement) {
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0), rows = 0;
    epoll_ctl(epoll, EPOLL_CTL_ADD, client, &event);
    char request[4096], answer[358] = {0};
    double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    while (epoll_wait(epoll, &event, 1, -1) == 1 && read(client, request, sizeof request) > 0) {
        insert(statement);
        rows++;
        if (write(client, answer, sizeof answer) < 0) break;
    }
    printf("server: %.0f us of processor time a row\n",
           (seconds(CLOCK_PROCESS_CPUTIME_ID) - start) / rows * 1e6);
}

int main(int count, char **words) {
    if (count < 2) {
        fprintf(stderr, "usage: bare_server FILE [COUNT]\n");
        return 64;
    }
    int rows = count > 2 ? atoi(words[2]) : 5000, ends[2];
    memset(text, 'x', sizeof text);
    sqlite3_stmt *statement = insertion(words[1]);
    double start = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < rows; i++) insert(statement);
    printf("raw: %.0f rows a second\n", rows / (seconds(CLOCK_MONOTONIC) - start));
    sqlite3_close(sqlite3_db_handle(statement));
    fflush(stdout);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
    if (fork() == 0) {
        close(ends[0]);
        serve(ends[1], insertion(words[1]));
        fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    char request[243] = {0}, answer[4096];
    start = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < rows; i++) {
        if (write(ends[0], request, sizeof request) < 0 || read(ends[0], answer, sizeof answer) <= 0) return 1;
    }
    printf("served: %.0f rows a second\n", rows / (seconds(CLOCK_MONOTONIC) - start));
    close(ends[0]);
    wait(NULL);
    return 0;
}
