// SPDX-License-Identifier: Apache-2.0
// Finds sections that have all words of what is typed; what stands in a heading comes first. Needs no server.
(() => {
  const form = document.querySelector("form"), input = form.querySelector("input"), found = document.getElementById("found")
  const plain = text => text.toLowerCase()
  const sections = window.searchIndex.map(([url, page, heading, text]) =>
    ({ url, page, heading, text, inHeading: plain(heading + " " + page), inText: plain(text) }))
  form.hidden = false

  // The piece of a text around a word, with the words marked; text stays text.
  const piece = (text, words) => {
    const low = plain(text), at = Math.max(0, Math.min(...words.map(w => low.indexOf(w)).filter(i => i >= 0), text.length) - 60)
    const out = document.createElement("span")
    const shown = (at ? "…" : "") + text.slice(at, at + 180) + (at + 180 < text.length ? "…" : "")
    const marks = new RegExp(words.map(w => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "gi")
    let last = 0
    for (const match of shown.matchAll(marks)) {
      out.append(shown.slice(last, match.index))
      const mark = document.createElement("mark")
      mark.textContent = match[0]
      out.append(mark)
      last = match.index + match[0].length
    }
    out.append(shown.slice(last))
    return out
  }

  const search = () => {
    const words = plain(input.value).split(/\s+/).filter(Boolean)
    found.replaceChildren()
    found.hidden = !words.length
    if (!words.length) return
    const hits = []
    for (const section of sections) {
      let score = 0
      for (const word of words) {
        const one = (section.inHeading.includes(word) ? 10 : 0) + (section.inText.includes(word) ? 1 : 0)
        if (!one) { score = 0; break }
        score += one
      }
      if (score) hits.push([score, section])
    }
    hits.sort((a, b) => b[0] - a[0])
    const head = document.createElement("p")
    head.textContent = hits.length ? `${hits.length} found` + (hits.length > 20 ? ", the first 20" : "") : "nothing found"
    found.append(head)
    for (const [, section] of hits.slice(0, 20)) {
      const link = document.createElement("a")
      link.href = section.url
      const title = document.createElement("b")
      title.textContent = section.heading === section.page ? section.page : `${section.page}: ${section.heading}`
      link.append(title, piece(section.text, words))
      found.append(link)
    }
  }
  input.addEventListener("input", search)
  form.addEventListener("submit", event => { event.preventDefault(); found.querySelector("a")?.click() })
  found.addEventListener("click", event => { if (event.target.closest("a")) { input.value = ""; search() } })
  document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus() }
    if (event.key === "Escape") { input.value = ""; search() }
  })
  // On a small screen the text comes first.
  if (matchMedia("(max-width: 56rem)").matches) document.querySelector("nav details").open = false
})()
