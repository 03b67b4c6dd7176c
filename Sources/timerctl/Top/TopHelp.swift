// SPDX-License-Identifier: Apache-2.0

/// What the keys of `top` do.
enum TopHelp {
    static let lines = [
        "up, down, j, k    mark another line",
        "page up, page down, home, end",
        "tab, 1, 2, 3      running, coming, failed",
        "/                 only names and tags with ...",
        "esc               all again; back",
        "enter             the job: what it is, its last runs, output",
        "f                 fire it; on its page: follow its output",
        "F                 fire it, on its page too",
        "p                 pause it, or resume it",
        "s                 skip its next date, the one that is shown",
        "x, F9             kill the run (asks first)",
        "d                 invalidate the job (asks first)",
        "u                 undo your last invalidation",
        "Ctrl-L            draw the screen anew",
        "Ctrl-Z            back to the shell; fg goes on",
        "?, h              this help",
        "q                 quit",
    ]

    static let hints =
        "enter open, f fire, p pause, s skip, x kill, d end, u undo, / filter, ? help, q quit"
    static let pageHints = "esc back, f follow, F fire, p pause, s skip, x kill, d end, ? help"
    static let filterHints = "type a part of a name or tag; enter keeps it, esc clears it"
}
