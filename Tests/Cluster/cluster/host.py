# SPDX-License-Identifier: Apache-2.0
"""A host of its own for a daemon on this machine: another boot, another elapsed time, and a wall clock that is off.

Nodes on one machine share its boot, so that elapsed time goes on by CLOCK_BOOTTIME and their wall clocks are never compared. Here each
has a namespace of time, whose CLOCK_BOOTTIME is another, and the kernel's name of the boot is covered by another. Nobody can have a
CLOCK_REALTIME of its own: clock.c shows one to all processes of the host.
"""
import ctypes
import os
import shutil
import struct
import subprocess
import sys
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
NEW_TIME, NEW_MOUNTS, BIND, PRIVATE = 0x80, 0x20000, 0x1000, 0x44000


class Host:
    """`off`: how many seconds its wall clock is ahead; `up`: how many longer than this machine it is said to run."""

    def __init__(self, folder, name, off=0, up=0):
        self.file, self.boot = "%s/clock-%s" % (folder, name), "%s/boot-%s" % (folder, name)
        with open(self.boot, "w") as file:
            file.write(str(uuid.uuid4()) + "\n")
        with open(self.file, "wb") as file:
            file.write(bytes(8))
        self.step(off)
        library = build(folder)
        self.words = [sys.executable, os.path.abspath(__file__), library, self.file, self.boot, str(up)]
        # In front of a program that has this clock alone.
        self.clock_alone = ["env"] + ["%s=%s" % pair for pair in shown(library, self.file).items()]

    def step(self, off):
        """Has its wall clock be that far ahead of this machine's from now on."""
        self.off = off
        # In place: it is mapped.
        with open(self.file, "r+b", buffering=0) as file:
            file.write(struct.pack("=q", round(off * 1e6)))


def build(folder):
    library = folder + "/clock.so"
    if not os.path.exists(library):
        subprocess.run([compiler(), "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", library, HERE + "/clock.c", "-ldl",
                        "-lpthread"], check=True)
    return library


def compiler():
    return shutil.which("cc") or shutil.which("clang")


def shown(library, clock):
    return {"LD_PRELOAD": library, "CLOCK_FILE": clock}


def check():
    """Says what is missing, where hosts cannot be made here."""
    if os.geteuid() != 0:
        raise SystemError("hosts with clocks of their own need root")
    if not compiler():
        raise SystemError("there is no C compiler; Debian's package is 'gcc'")
    done = subprocess.run(["unshare", "--time", "--boottime", "1", "--mount", "--fork", "true"], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemError("no namespaces of time and mounts here: " + done.stderr.strip())


def call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), "%s: %s" % (name, os.strerror(ctypes.get_errno())))


def main():
    library, clock, boot, up, *words = sys.argv[1:]
    # The process that makes a namespace of time is not in it, and is to stay the one that is waited for.
    call("unshare", NEW_TIME | NEW_MOUNTS)
    with open("/proc/self/timens_offsets", "w") as file:
        file.write("boottime %s 0\n" % up)
    made = os.open("/proc/self/ns/time_for_children", os.O_RDONLY)
    call("setns", made, NEW_TIME)
    os.close(made)
    call("mount", b"none", b"/", None, PRIVATE, None)
    call("mount", boot.encode(), b"/proc/sys/kernel/random/boot_id", None, BIND, None)
    os.execvpe(words[0], words, dict(os.environ, **shown(library, clock)))


if __name__ == "__main__":
    main()
