# SPDX-License-Identifier: Apache-2.0
"""What a server has used, and how samples are told."""
import os
import resource
import time


def tree(pids):
    """These processes and all that descend from them."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
        children.setdefault(parent, []).append(int(name))
    found, left = [], list(pids)
    while left:
        pid = left.pop()
        found.append(pid)
        left += children.get(pid, [])
    return found


def processor_time(pids):
    """Seconds of all their threads; of children that have ended, what their parent has waited for."""
    total = 0.0
    for pid in tree(pids):
        try:
            total += time.clock_gettime((~pid << 3) | 2)  # the clock of that process: MAKE_PROCESS_CPUCLOCK in the kernel
            with open("/proc/%d/stat" % pid) as stat:
                fields = stat.read().rpartition(")")[2].split()
            total += (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            pass  # it has ended
    return total


def memory(pids):
    """Bytes; what several of them share is counted once."""
    total = 0
    for pid in tree(pids):
        try:
            with open("/proc/%d/smaps_rollup" % pid) as lines:
                total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
        except OSError:
            pass
    return total


def quantile(samples, part):
    """The sample that so large a part of them is not above."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else None


def raise_file_limit(wanted):
    """For this process and the servers that it starts. What it can be at most."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted and hard < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
            return wanted
        except (ValueError, OSError):
            pass  # not root: what is allowed then
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, wanted), hard), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
