# SPDX-License-Identifier: Apache-2.0
"""Renders README, docs/*.md and the manual pages into a folder, with an index for the search; checks all links.

A page's anchors are as GitHub has them, so that one link is right in both places. Nothing is loaded from elsewhere."""

import html
import json
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
# What the navigation shows, in its order; a document of docs/ that is not here comes under "More".
GROUPS = [
    ("Begin", ["README.md", "(screens)", "docs/from-cron.md", "docs/recipes.md", "docs/comparison.md"]),
    ("Use", ["docs/configuration.md", "docs/web.md", "docs/notices.md", "docs/metrics.md", "docs/cluster.md", "docs/packages.md", "docs/container.md", "packaging/ansible/README.md"]),
    ("Trust", ["docs/reliability.md", "docs/security.md", "Benchmarks/README.md"]),
    ("Build on it", ["docs/protocol.md", "examples/README.md", "docs/architecture.md", "docs/internals.md", "docs/runner-protocol.md", "CONTRIBUTING.md", "CHANGELOG.md"]),
]
NAMES = {
    "README.md": ("index.html", "timerd"), "Benchmarks/README.md": ("benchmarks.html", "How fast it is"),
    "examples/README.md": ("examples.html", "Examples"), "packaging/ansible/README.md": ("ansible.html", "Ansible role"),
    "(screens)": ("screens.html", "In the terminal"),
}
SCREENS = [
    ("list", "What there is", "All jobs, the next to fire first: what they are, how the last run went."),
    ("timeline", "At a glance", "What ran and what is to come, a line each, now in the middle."),
    ("runs", "What went wrong", "The last runs of a job that fails, the newest first."),
    ("top", "What happens now", "What runs, waits and comes next, drawn anew as it happens."),
    ("doctor", "What is wrong", "Each part looked at, and what to do about it."),
]
problems = []


def slug(text, taken):
    """An anchor as GitHub makes it of a heading."""
    base = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    count = taken.get(base, -1) + 1
    taken[base] = count
    return f"{base}-{count}" if count else base


class Page:
    def __init__(self, source, target, title):
        self.source, self.target, self.title = source, target, title
        self.body, self.sections, self.ids, self.links = "", [], set(), []


class Reader(HTMLParser):
    """A page's anchors and links, its text by sections, and what it would load."""

    def __init__(self, page):
        super().__init__()
        self.page, self.text, self.heading, self.loads = page, [], None, []
        self.section = ("", page.title)
        self.sections = []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if "id" in named:
            if named["id"] in self.page.ids:
                problems.append(f"{self.page.source}: two places have the anchor '{named['id']}'")
            self.page.ids.add(named["id"])
        if tag == "a" and "href" in named:
            self.page.links.append(named["href"])
        if tag in ("img", "script", "link", "iframe", "source"):
            self.loads.append(named.get("src") or named.get("href") or "")
        if re.fullmatch("h[1-4]", tag):
            self.finish()
            self.heading = named.get("id", "")
            self.text = []

    def handle_endtag(self, tag):
        if self.heading is not None and re.fullmatch("h[1-4]", tag):
            self.section = (self.heading, "".join(self.text).strip())
            self.heading, self.text = None, []

    def handle_data(self, data):
        self.text.append(data)

    def finish(self):
        text = re.sub(r"\s+", " ", "".join(self.text)).strip()
        if text or self.section[0]:
            self.sections.append((*self.section, text))


def is_far(link):
    return re.match(r"(?i)[a-z][a-z0-9+.-]*:", link) is not None


def render(page, markdown, targets, files):
    tokens = markdown.parse((ROOT / page.source).read_text())
    taken = {}
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            inner = "".join(part.content for part in tokens[at + 1].children if part.type in ("text", "code_inline"))
            token.attrSet("id", slug(inner, taken))
        for part in token.children or []:
            if part.type == "link_open":
                part.attrSet("href", moved(page, part.attrs["href"], targets, files))
            if part.type == "image":
                part.attrSet("src", moved(page, part.attrs["src"], targets, files))
    text = markdown.renderer.render(tokens, markdown.options, {})
    return re.sub(r"<table>(.*?)</table>", r'<div class="wide"><table>\1</table></div>', text, flags=re.S)


def moved(page, link, targets, files):
    """Where a link of a document leads in the site: to its page, or to a copy of the file it names."""
    if is_far(link) or link.startswith("#"):
        return link
    path, _, anchor = link.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), path))
    if path in targets:
        return targets[path] + (f"#{anchor}" if anchor else "")
    whole = ROOT / path
    if whole.is_dir() and path == "docs/man":
        return "timerctl.1.html"
    if whole.is_file():
        files.add(path)
        return f"files/{path}"
    problems.append(f"{page.source}: '{link}' leads nowhere")
    return link


def manual(source, pages):
    said = subprocess.run(
        ["mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", str(ROOT / source)], capture_output=True, text=True, check=True)
    # A manual page that is another program's is no page here.
    text = re.sub(
        r'<a class="Xr" href="([^"]*)">(.*?)</a>',
        lambda match: match[0] if match[1] in pages else f'<span class="Xr">{match[2]}</span>', said.stdout)
    text = re.sub(r"<(/?)h1\b", r"<\1h2", text)
    return f"<h1>{html.escape(pathlib.Path(source).stem)}({source[-1]})</h1>\n{text}"


def screens(page):
    parts = ["<h1>In the terminal</h1>", "<p>Drawn by a script from the programs at work, in a terminal of 100 columns.</p>"]
    for name, title, words in SCREENS:
        parts.append(f'<h2 id="{name}">{title}</h2><p>{words}</p>{figure(name, title)}')
    return "\n".join(parts)


def figure(name, title):
    return (f'<figure class="wide" tabindex="0"><img src="pictures/{name}.svg" '
            f'alt="A terminal that shows what timerctl {name} prints" title="{title}"></figure>')


def navigation(groups, here):
    parts = []
    for title, pages in groups:
        parts.append(f"<h2>{title}</h2><ul>")
        for page in pages:
            current = ' aria-current="page"' if page is here else ""
            parts.append(f'<li><a href="{page.target}"{current}>{html.escape(page.title)}</a></li>')
        parts.append("</ul>")
    return "".join(parts)


def frame(page, groups):
    title = page.title if page.target == "index.html" else f"{page.title} · timerd"
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{html.escape(title)}</title><link rel="stylesheet" href="style.css">
<script src="index.js" defer></script><script src="search.js" defer></script></head>
<body><a class="skip" href="#content">To the text</a>
<header><a class="home" href="index.html">timerd</a>
<form role="search" hidden><input type="search" aria-label="Search" placeholder="Search ( / )" autocomplete="off" aria-controls="found"></form></header>
<div id="found" role="region" aria-label="What was found" aria-live="polite" hidden></div>
<nav aria-label="Pages"><details open><summary>Pages</summary>{navigation(groups, page)}</details></nav>
<main id="content">{page.body}</main></body></html>
"""


def title_of(source):
    match = re.search(r"(?m)^# (.*)$", (ROOT / source).read_text())
    return re.sub(r"[`*]", "", match[1]) if match else source


def collect():
    """The pages by groups; those of docs/ that no group names are not forgotten."""
    groups, seen = [], set()
    manuals = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/man").glob("*.[0-9]"))
    named = {source for _, sources in GROUPS for source in sources}
    rest = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md") if str(path.relative_to(ROOT)) not in named)
    for title, sources in [*GROUPS, ("More", rest), ("Manual pages", manuals)]:
        pages = []
        for source in sources:
            if source != "(screens)" and not (ROOT / source).is_file():
                continue
            if source in manuals:
                target, name = pathlib.Path(source).name + ".html", f"{pathlib.Path(source).stem}({source[-1]})"
            elif source in NAMES:
                target, name = NAMES[source]
            else:
                target, name = pathlib.Path(source).stem.lower() + ".html", title_of(source)
            if target in seen:
                problems.append(f"{source}: another page is '{target}' already")
            seen.add(target)
            pages.append(Page(source, target, name))
        if pages:
            groups.append((title, pages))
    return groups


def check_links(pages, out):
    by_target = {page.target: page for page in pages}
    for page in pages:
        for link in page.links:
            if is_far(link):
                continue
            path, _, anchor = link.partition("#")
            other = by_target.get(path or page.target)
            if other is None and not (out / path).is_file():
                problems.append(f"{page.source}: '{link}' leads nowhere")
            elif other is not None and anchor and anchor not in other.ids:
                problems.append(f"{page.source}: '{link}': '{other.source}' has no such heading")


def main(out):
    groups = collect()
    pages = [page for _, some in groups for page in some]
    targets = {page.source: page.target for page in pages}
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    files, index, loads = {"docs/jobs.schema.json"}, [], []
    for page in pages:
        if page.source == "(screens)":
            page.body = screens(page)
        elif page.source.startswith("docs/man/"):
            page.body = manual(page.source, {other.target for other in pages})
        else:
            page.body = render(page, markdown, targets, files)
        if page.target == "index.html":
            page.body = page.body.replace("</pre>", "</pre>\n" + figure("timeline", "At a glance"), 1)
        reader = Reader(page)
        # The frame has an anchor of its own.
        reader.feed(page.body + '<i id="content"></i>')
        reader.finish()
        loads += [(page, load) for load in reader.loads]
        for anchor, heading, text in reader.sections:
            index.append([page.target + (f"#{anchor}" if anchor else ""), page.title, heading, text])
    for path in sorted(files):
        (out / "files" / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, out / "files" / path)
    for page, load in loads:
        if is_far(load) or load.startswith("//") or not (out / load).is_file():
            problems.append(f"{page.source}: it would load '{load}', which is not in the site")
    for page in pages:
        (out / page.target).write_text(frame(page, groups))
    check_links(pages, out)
    (out / "index.js").write_text("window.searchIndex = " + json.dumps(index, ensure_ascii=False, separators=(",", ":")) + ";\n")
    for name in ("style.css", "search.js"):
        shutil.copyfile(HERE / name, out / name)
    for problem in sorted(set(problems)):
        print(f"site: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"site: {len(pages)} pages, {sum(len(page.links) for page in pages)} links", file=sys.stderr)


main(pathlib.Path(sys.argv[1]))
