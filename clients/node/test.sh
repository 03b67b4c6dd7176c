#!/bin/sh
# Packs the client, installs the tarball into a clean folder, and runs the tests against what was installed.
# With $TIMERD_PROGRAMS, a folder with timerd, also against the real daemon.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$here" && npm pack --silent --pack-destination "$work" >/dev/null)
mkdir "$work/user"
cd "$work/user"
echo '{"private": true}' >package.json
npm install --offline --silent --no-audit --no-fund "$work"/timerd-*.tgz
cp -r "$here/test" .
cp "$here/../../examples/node/mail-worker.mjs" .
node -e "import('timerd').then(({ Client }) => { if (typeof Client !== 'function') process.exit(1) })"
if command -v tsc >/dev/null; then
    tsc --noEmit --strict --target es2020 --lib es2020,dom --module node16 --moduleResolution node16 test/types.mts
fi
node --test test/client.test.mjs test/mishaps.test.mjs test/worker.test.mjs test/example.test.mjs test/daemon.test.mjs
