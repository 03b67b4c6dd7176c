# SPDX-License-Identifier: Apache-2.0
"""Pictures of the real programs in a real terminal: starts a daemon on a temporary database, types into tmux, and draws
what stands there then as SVG. Ends what it started."""

import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("TIMERD_PROGRAMS", ROOT / ".build/release"))
COLUMNS, LINES = 100, 20
CELL, LINE = 8.4, 18

# name, what is typed, what has to stand there before it is drawn, whether it goes on until q
SCREENS = [
    ("list", "timerctl list", "backup", False),
    ("timeline", "timerctl timeline --past 1min --next 1min", "now", False),
    ("runs", "timerctl runs report -n 5", "exit 3", False),
    ("doctor", "timerctl doctor", "database", False),
    ("top", "timerctl top", "index", True),
]
# The jobs of the scene; `fire` runs one now.
SCENE = [
    "every 2s --name heartbeat --tag web -- true",
    "add --cron '30 2 * * *' --name backup --retries 2 --timeout 2h -- /opt/backup.sh",
    "add --cron '*/5 9-17 * * mon-fri' --tz Europe/Berlin --name poll --overlap skip -- true",
    "every 3s --name report -- sh -c 'sleep 0.2; exit 3'",
    "add --calendar 'Sun *-*-* 04:00' --name index -- sleep 600",
    "at 'tomorrow 09:00' --name standup --event --user-info '{\"text\":\"stand up\"}'",
    "fire index",
]


def wait(what, test, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := test():
            return found
        time.sleep(0.05)
    sys.exit(f"pictures: waited {seconds} s in vain for {what}")


class Terminal:
    """A shell in tmux, on a server of its own."""

    def __init__(self, folder, environment):
        self.base = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        shell = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), "bash", "--norc", "--noprofile"]
        # Its own colours do not hang on where this is run.
        started = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        subprocess.run([*self.base, "-u", "new-session", "-d", *size, *shell], check=True, env=started)
        wait("the prompt", lambda: self.text().strip() == "$")

    def tmux(self, *words):
        return subprocess.run([*self.base, *words], capture_output=True, text=True, check=True).stdout

    def text(self):
        return self.tmux("capture-pane", "-p")

    def type(self, line):
        self.tmux("send-keys", "-l", line)
        self.tmux("send-keys", "Enter")

    def picture(self, line, word, endless):
        self.tmux("send-keys", "-l", "clear")
        self.tmux("send-keys", "Enter")
        wait("a clear screen", lambda: self.text().strip() == "$")
        self.type(line)
        done = (lambda: word in self.text()) if endless else (
            lambda: word in self.text() and self.text().rstrip().endswith("\n$"))
        wait(f"'{word}' of '{line}'", done)
        drawn = self.tmux("capture-pane", "-e", "-p").rstrip("\n").split("\n")
        if endless:
            self.tmux("send-keys", "q")
            wait("the prompt", lambda: self.text().rstrip().endswith("$"))
        # Without the lines below, and the prompt that is there again.
        plain = [re.sub(r"\x1b\[[0-9;]*m", "", part).strip() for part in drawn]
        while plain and plain[-1] in ("", "$"):
            plain.pop()
            drawn.pop()
        return drawn

    def end(self):
        subprocess.run([*self.base, "kill-server"], capture_output=True)


def styles(line):
    """The pieces of a line with one style each: column, text, classes."""
    now, column, pieces = set(), 0, []
    for escape, text in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b]+)", line):
        if not text:
            for code in [int(number or 0) for number in escape.split(";")]:
                if code == 0:
                    now = set()
                elif code in (1, 2, 4, 7):
                    now = now | {{1: "bold", 2: "dim", 4: "line", 7: "turned"}[code]}
                elif code == 22:
                    now = now - {"bold", "dim"}
                elif code in (24, 27):
                    now = now - {"line", "turned"}
                elif 30 <= code <= 37 or 90 <= code <= 97 or code == 39:
                    now = {name for name in now if not name.startswith("c")}
                    if code != 39:
                        now = now | {f"c{code % 10}"}
            continue
        text = text.replace("\x0f", "")
        width = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
        pieces.append((column, width, text, sorted(now)))
        column += width
    return pieces


STYLE = """
text{font:14px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#24292f;white-space:pre}
.back{fill:#f6f8fa;stroke:#d0d7de}.bold{font-weight:bold}.dim{opacity:.65}.line{text-decoration:underline}
.c0{fill:#24292f}.c1{fill:#b3202c}.c2{fill:#116329}.c3{fill:#7d4e00}.c4{fill:#0550ae}.c5{fill:#7a35b8}.c6{fill:#0b6273}.c7{fill:#57606a}
rect.turned{fill:#24292f}text.turned{fill:#f6f8fa}
@media(prefers-color-scheme:dark){text{fill:#dfe5ec}.back{fill:#11161d;stroke:#30363d}
.c0{fill:#8b949e}.c1{fill:#ff8f88}.c2{fill:#6fd883}.c3{fill:#e8bc5c}.c4{fill:#82bdff}.c5{fill:#d6acff}.c6{fill:#67d3df}.c7{fill:#dfe5ec}
rect.turned{fill:#dfe5ec}text.turned{fill:#11161d}}
"""


def svg(lines, title):
    width = round(COLUMNS * CELL + 32)
    height = len(lines) * LINE + 28
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>",
        f'<rect class="back" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>',
    ]
    for row, line in enumerate(lines):
        y = 14 + row * LINE
        for column, cells, text, classes in styles(line):
            name = f' class="{" ".join(classes)}"' if classes else ""
            x = round(16 + column * CELL, 1)
            if "turned" in classes:
                out.append(f'<rect class="turned" x="{x}" y="{y}" width="{cells * CELL:.1f}" height="{LINE}"/>')
            # Word by word: where a font lacks a sign, what follows stays in its column.
            for word in re.finditer(r"\S+(?: \S+)*", text):
                before = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text[: word.start()])
                at = round(x + before * CELL, 1)
                length = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in word[0]) * CELL
                out.append(
                    f'<text{name} x="{at}" y="{y + 14}" textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs">'
                    f"{html.escape(word[0])}</text>")
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main(target):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="timerd-site.", dir="/tmp"))
    environment = {
        "PATH": f"{PROGRAMS}:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "TERM": "screen-256color", "PS1": "$ ",
        "TIMERD_SOCKET": str(folder / "timerd.sock"), "TIMERD_DATABASE": str(folder / "timerd.db"), "TZ": "Europe/Berlin",
        "PAGER": "cat", "SWIFT_BACKTRACE": "enable=no",
    }
    log = open(folder / "log", "w")
    daemon = subprocess.Popen([str(PROGRAMS / "timerd")], env=environment, stdout=log, stderr=log)
    terminal = None
    try:
        def ask(line):
            return subprocess.run(f"timerctl {line}", shell=True, env=environment, capture_output=True, text=True)

        wait("the daemon", lambda: ask("status").returncode == 0)
        for line in SCENE:
            if (done := ask(line)).returncode:
                sys.exit(f"pictures: 'timerctl {line}' ended with {done.returncode}: {done.stderr}")
        wait("five reports", lambda: ask("runs report -n 9").stdout.count("exit 3") >= 5, 40)
        terminal = Terminal(folder, environment)
        for name, line, word, endless in SCREENS:
            drawn = terminal.picture(line, word, endless)
            if not any(word in re.sub(r"\x1b\[[0-9;]*m", "", part) for part in drawn):
                sys.exit(f"pictures: '{word}' is not on the screen of '{line}'")
            (target / f"{name}.svg").write_text(svg(drawn, line))
    finally:
        if terminal:
            terminal.end()
        daemon.terminate()
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
        # Without a daemon: what it has started goes on otherwise, and so does its runner.
        subprocess.run([str(PROGRAMS / "timerd"), "--end-runs", "--drain", "0"], env=environment, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


main(pathlib.Path(sys.argv[1]))
