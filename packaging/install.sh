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

die() { echo "install.sh: $*" >&2; exit 1; }
case $PREFIX in
*[!A-Za-z0-9._/+-]*) die "PREFIX '$PREFIX' has a character that units read in their own way, accepted are letters, digits and ._/+-" ;;
/*[!/]) ;;
*) die "PREFIX '$PREFIX' is not the path of a folder, such as /usr/local" ;;
esac
case $DESTDIR in '' | /*) ;; *) DESTDIR=$PWD/$DESTDIR ;; esac
list=$DESTDIR$PREFIX/share/timerd/installed
cd "$(dirname "$0")"

end_service() { sh tree/usr/local/share/timerd/end-service "$@" "$PREFIX"; }
# Whose timerd.service is that systemd has: ours, none, or the path of another installation's; untold where it is not
# for us to ask. Before anything changes, as a unit that is put there may stand before another's.
whose=untold
if [ -z "$DESTDIR" ] && [ "$(id -u)" -eq 0 ] && [ -d /run/systemd/system ]; then whose=$(end_service --whose); fi

uninstall() {
    [ -f "$list" ] || die "there is no '$list': it was not installed there by this"
    [ "$whose" = untold ] || end_service
    if [ "$whose" = ours ]; then
        enabled=$(systemctl is-enabled timerd.service 2>/dev/null) || true
        systemctl disable timerd.socket timerd.service timerd-runner.socket timerd-runner.service 2>/dev/null || true
    fi
    folders=
    while IFS= read -r line; do
        sum=${line%% *} file=${line#* }
        case $sum:$file in
        folder:*) folders="$file
$folders" && continue ;;
        *:/etc/*)
            # What an administrator wrote there stays.
            if [ -f "$DESTDIR$file" ] && [ "$(sha256sum <"$DESTDIR$file" | cut -d' ' -f1)" != "$sum" ]; then
                echo "'$DESTDIR$file' was changed and stays"
                continue
            fi
            ;;
        esac
        rm -f "$DESTDIR$file"
    done <"$list"
    rm -f "$list"
    # The inner ones first; those that have something else in them by now stay.
    printf %s "$folders" | while IFS= read -r folder; do rmdir "$DESTDIR$folder" 2>/dev/null || true; done
    [ "$whose" = untold ] || systemctl daemon-reload
    # A unit of another installation, which ours stood before, counts again.
    if [ "$whose" = ours ] && [ "$enabled" = enabled ]; then
        unit=$(systemctl show --value -p FragmentPath timerd.service)
        [ -z "$unit" ] || { systemctl enable --now timerd-runner.socket timerd.socket timerd.service && echo "'$unit' is started"; }
    fi
    echo "removed; no job was"
    exit 0
}

case ${1:-} in
'') ;;
--uninstall) uninstall ;;
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

# It says what is missing here before anything is written.
missing=$(ldd tree/usr/local/sbin/timerd 2>&1 | grep 'not found' || true)
[ -z "$missing" ] || die "timerd does not start here:
$missing"
tree/usr/local/bin/timerctl --version >/dev/null || die "these programs do not run on this $(uname -m)"

# Makes a folder and those above it, and remembers which it has made: no others are removed again.
made=
folder() {
    [ ! -d "$DESTDIR$1" ] || return 0
    folder "$(dirname "$1")"
    mkdir "$DESTDIR$1"
    made="${made}folder $1
"
}
mkdir -p "$DESTDIR/"
folder "$PREFIX/share/timerd"
: >"$list.new"
files=$(cd tree && find . ! -type d | LC_ALL=C sort)
while IFS= read -r file; do
    file=${file#.}
    to=$file
    case $file in
    /usr/local/*) to=$PREFIX${file#/usr/local} ;;
    /etc/*)
        # PAM reads no other folder, and a prefix of one's own is no system's daemon.
        case $PREFIX in /usr | /usr/local) ;; *) continue ;; esac
        # What an administrator has there stays, and is none of this.
        if [ -e "$DESTDIR$to" ]; then
            grep " $to\$" "$list" 2>/dev/null >>"$list.new" || true
            continue
        fi
        ;;
    esac
    folder "$(dirname "$to")"
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
done <<END
$files
END
if [ -f "$list" ]; then
    # What it put there before and is no longer in this release; its folders are its own still.
    grep -v '^folder ' "$list" | cut -d' ' -f2- | while IFS= read -r file; do
        case $file in /etc/*) continue ;; esac
        cut -d' ' -f2- "$list.new" | grep -qxF -e "$file" || rm -f "$DESTDIR$file"
    done
    grep '^folder ' "$list" >>"$list.new" || true
fi
printf %s "$made" >>"$list.new"
mv -f "$list.new" "$list"

echo "installed in $DESTDIR$PREFIX: $(grep -vc '^folder ' "$list") files, which $list names"
[ -z "$DESTDIR" ] || exit 0
units=$PREFIX/lib/systemd/system ctl=systemctl looks=
case $whose in
untold)
    echo "$PREFIX/sbin/timerd    serves in the foreground"
    # A user may have a daemon of one's own started by systemd.
    [ "$(id -u)" -ne 0 ] && [ -d /run/systemd/system ] || exit 0
    units=$PREFIX/lib/systemd/user ctl='systemctl --user'
    ;;
ours)
    systemctl daemon-reload
    # Started anew where it runs: the daemon alone, and its runs go on.
    systemctl try-restart timerd.service || true
    looks=yes
    ;;
*)
    case " $(systemctl show --value -p UnitPath) " in *" $units "*) looks=yes ;; esac
    if [ "$whose" != none ]; then
        echo "timerd.service is '$whose', another installation's, and goes on"
        [ -z "$looks" ] || echo "systemd looks in '$units' as well, and may start this one the next time: remove one of both"
        exit 0
    fi
    systemctl daemon-reload
    ;;
esac
if [ -n "$looks" ]; then
    echo "systemctl enable --now timerd-runner.socket timerd.socket timerd    starts it with the machine"
else
    echo "systemd does not look in '$units'; these two start it there:"
    echo "$ctl link $units/timerd-runner.service"
    echo "$ctl enable --now $units/timerd-runner.socket $units/timerd.socket $units/timerd.service"
fi
