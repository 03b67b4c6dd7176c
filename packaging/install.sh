#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts what is in this folder on a system; needs no compiler.
#
#   sudo ./install.sh              into /usr/local, or PREFIX
#   sudo ./install.sh --uninstall  removes what it put there, and no job
#
# PREFIX: /usr/local unless it is said. DESTDIR: a folder that stands for the root of the system.
set -eu
PREFIX=${PREFIX:-/usr/local}
DESTDIR=${DESTDIR:-}
list=$DESTDIR$PREFIX/share/timerd/installed

die() { echo "install.sh: $*" >&2; exit 1; }
case $PREFIX in
/*[!/]) ;;
*) die "PREFIX '$PREFIX' is not the path of a folder, such as /usr/local" ;;
esac

uninstall() {
    [ -f "$list" ] || die "there is no '$list': it was not installed there by this"
    if [ -z "$DESTDIR" ] && [ -d /run/systemd/system ]; then
        # Runs end by their own rules first, and how they ended is stored.
        systemctl disable --now timerd.socket timerd.service 2>/dev/null || true
        "$PREFIX/sbin/timerd" --end-runs || true
        systemctl disable --now timerd-runner.socket timerd-runner.service 2>/dev/null || true
    fi
    while read -r sum file; do
        case $file in
        /etc/*)
            # What an administrator wrote there stays.
            if [ -f "$DESTDIR$file" ] && [ "$(sha256sum <"$DESTDIR$file" | cut -d' ' -f1)" != "$sum" ]; then
                echo "'$DESTDIR$file' was changed and stays"
                continue
            fi
            ;;
        esac
        rm -f "$DESTDIR$file"
        rmdir -p "$(dirname "$DESTDIR$file")" 2>/dev/null || true
    done <"$list"
    rm -f "$list"
    rmdir -p "$(dirname "$list")" 2>/dev/null || true
    [ -n "$DESTDIR" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload
    echo "removed; jobs and their history are in /var/lib/timerd still"
    exit 0
}

case ${1:-} in
'') ;;
--uninstall) cd / && uninstall ;;
*) die "'$1' is not known; --uninstall is" ;;
esac

# PAM's file in the words of this system: Debian's, openSUSE's, or those of Fedora, Arch and others.
pam() {
    folder=$DESTDIR/etc/pam.d
    if [ -e "$folder/common-session-noninteractive" ] || [ -z "$(ls "$folder")" ]; then
        cat tree/etc/pam.d/timerd
    elif [ -e "$folder/common-account" ]; then
        sed '/^account/s/system-auth/common-account/;/^session/s/system-auth/common-session/' timerd.system-auth
    else
        cat timerd.system-auth
    fi
}

cd "$(dirname "$0")"
# It says what is missing here before anything is written.
missing=$(ldd tree/usr/local/sbin/timerd 2>&1 | grep 'not found' || true)
[ -z "$missing" ] || die "timerd does not start here:
$missing"
tree/usr/local/bin/timerctl --version >/dev/null || die "these programs do not run on this $(uname -m)"

mkdir -p "$(dirname "$list")"
# What it put there before goes on its list again, or is there no longer in this release.
old=
[ ! -f "$list" ] || old=$(sed 's/^[^ ]* //' "$list")
: >"$list.new"
(cd tree && find . ! -type d | LC_ALL=C sort) | while IFS= read -r file; do
    file=${file#.}
    to=$file
    case $file in
    /usr/local/*) to=$PREFIX${file#/usr/local} ;;
    /etc/*)
        # PAM reads no other folder, and a prefix of one's own is no system's daemon.
        case $PREFIX in /usr | /usr/local) ;; *) continue ;; esac
        # What an administrator has there stays, and is none of this.
        if [ -e "$DESTDIR$to" ]; then
            grep -F " $to" "$list" 2>/dev/null >>"$list.new" || true
            continue
        fi
        ;;
    esac
    mkdir -p "$(dirname "$DESTDIR$to")"
    if [ -L "tree$file" ]; then
        ln -sfn "$(readlink "tree$file")" "$DESTDIR$to"
        echo "link $to" >>"$list.new"
        continue
    fi
    # Under another name first: a program that runs cannot be written, and a file that is read stays whole.
    rm -f "$DESTDIR$to.new"
    case $file in
    */pam.d/timerd) pam >"$DESTDIR$to.new" && chmod 644 "$DESTDIR$to.new" ;;
    *.service) sed "s|/usr/local/sbin/timerd|$PREFIX/sbin/timerd|g" "tree$file" >"$DESTDIR$to.new" && chmod 644 "$DESTDIR$to.new" ;;
    *) cp -p "tree$file" "$DESTDIR$to.new" ;;
    esac
    mv -f "$DESTDIR$to.new" "$DESTDIR$to"
    echo "$(sha256sum <"$DESTDIR$to" | cut -d' ' -f1) $to" >>"$list.new"
done
for file in $old; do
    grep -qF " $file" "$list.new" || case $file in /etc/*) ;; *) rm -f "$DESTDIR$file" ;; esac
done
mv -f "$list.new" "$list"

echo "installed in $DESTDIR$PREFIX: $(wc -l <"$list") files, which $list names"
if [ -z "$DESTDIR" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    # Started anew where it runs: the daemon alone, and its runs go on.
    systemctl try-restart timerd.service || true
    echo "systemctl enable --now timerd-runner.socket timerd.socket timerd    starts it with the machine"
fi
