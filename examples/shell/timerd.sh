#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A client of timerd in a few lines of shell: timerd.sh METHOD [PARAMETERS]; needs OpenBSD's nc (netcat-openbsd).
#
#     timerd.sh job.add '{"schedule":{"every":"5s"},"command":["true"]}'
#     timerd.sh job.list | jq -r '.result.jobs[] | "\(.id) \(.fireDate)"'
set -eu
[ $# -ge 1 ] && [ $# -le 2 ] || { sed -n '3,6s/^# \{0,1\}//p' "$0" >&2; exit 64; }
socket=${TIMERD_SOCKET:-/run/timerd/timerd.sock}

reply=$(printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' "$1" "${2:-{\}}" | nc -U -N "$socket")
printf '%s\n' "$reply"
case $reply in
'{"error":'*) exit 1 ;;
esac
