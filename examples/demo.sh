#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A session with a real daemon on a temporary database; ends what it started, and leaves nothing.
# Run by `make demo`, which builds the programs first.
set -euo pipefail
cd "$(dirname "$0")/.."

programs=$PWD/.build/release
folder=$(mktemp -d /tmp/timerd-demo.XXXXXX)
export TIMERD_SOCKET=$folder/timerd.sock TIMERD_DATABASE=$folder/timerd.db
export PATH=$programs:$PATH
daemon= watcher=

finish() {
    status=$?
    for pid in $watcher $daemon; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true
    done
    [ "$status" -eq 0 ] || { echo "demo: failed; the daemon said:"; cat "$folder/log"; } >&2
    rm -rf "$folder"
    exit "$status"
}
trap finish EXIT

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
# Shows a command as a person would type it, and runs it.
run() {
    local word line='$'
    for word in "$@"; do
        [[ $word =~ ^[A-Za-z0-9_./=+:-]+$ ]] || word="'$word'"
        line+=" $word"
    done
    printf '%s\n' "$line"
    "$@"
}
# Waits for a condition, ten seconds at most.
until_true() {
    for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done
    echo "demo: waited 10 s in vain for: $*" >&2
    return 1
}
start() {
    timerd >>"$folder/log" 2>&1 &
    daemon=$!
    until_true timerctl status
}
fires() { timerctl show "$1" --json | grep -o '"fires":[0-9]*' | cut -d: -f2; }
has_fired() { [ "$(fires "$1")" -ge "$2" ]; }

say "A daemon on a temporary database"
start
run timerctl status

say "A job every second, which runs a real command"
run timerctl add --every 1s --name disk -- /bin/sh -c 'df -h / | tail -1'

say "A one-shot that carries userInfo and tells whoever watches"
run timerctl add --in 30s --event --user-info '{"text":"stand up"}'
run timerctl list

say "Three seconds of what happens"
timerctl watch &
watcher=$!
until_true has_fired 1 3
kill "$watcher" && wait "$watcher" 2>/dev/null || true
watcher=
run timerctl logs 1

say "The one-shot is moved while it waits: to two seconds from now"
run timerctl set-fire-date 2 +2s
until_true has_fired 2 1
run timerctl runs 2

say "kill -9 of the daemon, and a new one: nothing is lost"
before=$(timerctl list --all --json | grep -o '"id":[0-9]*' | sort)
kill -9 "$daemon"
{ wait "$daemon" || true; } 2>/dev/null
start
after=$(timerctl list --all --json | grep -o '"id":[0-9]*' | sort)
[ "$before" = "$after" ] || { echo "demo: jobs before: $before, after: $after" >&2; exit 1; }
count=$(fires 1)
until_true has_fired 1 $((count + 1))
run timerctl list --all

say "The job is ended; after the answer it fires no more"
run timerctl invalidate 1
run timerctl show 1

say "Everything that happened, from the database"
run timerctl watch --since 0 -n 8

say "SIGTERM: the daemon gives back what it had claimed, and ends"
kill "$daemon"
wait "$daemon"
daemon=
tail -1 "$folder/log"
printf '\ndemo: done\n'
