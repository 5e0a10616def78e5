"""What every page of ours has around it: one file, no script, nothing from elsewhere."""

from __future__ import annotations

from html import escape

STYLE = """
:root { color-scheme: light; --ink: #1c2330; --soft: #5b6577; --line: #e3e7ee; --ours: #0b5a94;
  --best: #eaf4fb; }
* { box-sizing: border-box; }
html { font-size: 16px; }
body { margin: 0; background: #f4f6f9; color: var(--ink); font: 1rem/1.55 system-ui, -apple-system,
  "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1000px; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.15rem; margin: 0 0 .7rem; }
p { margin: 0; }
.lead { font-size: 1.1rem; color: var(--soft); margin-bottom: 1.6rem; }
section { background: #fff; border: 1px solid var(--line); border-radius: 12px; padding: 1.4rem;
  margin-bottom: 1.2rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(210px, 1fr)); gap: 1rem;
  background: none; border: 0; padding: 0; }
.tile { background: #fff; border: 1px solid var(--line); border-radius: 12px; padding: 1rem
  1.2rem; }
.tile b { display: block; font-size: 1.8rem; line-height: 1.2; color: var(--ours); }
.tile span { color: var(--soft); font-size: .92rem; }
.plot svg { width: 100%; height: auto; display: block; }
.plot + .note, .note { color: var(--soft); font-size: .92rem; }
.part { margin: 2.2rem 0 .9rem; font-size: 1.3rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
th { text-align: right; font-size: .82rem; font-weight: 600; color: var(--soft);
  border-bottom: 1px solid var(--ink); padding: .35rem .5rem; vertical-align: bottom; }
td { text-align: right; padding: .3rem .5rem; white-space: nowrap; }
th.name, td.name { text-align: left; }
tbody { border-bottom: 1px solid var(--line); }
tr.limit td { color: var(--soft); font-style: italic; }
tr.ours td { font-weight: 600; }
tr.which td { white-space: normal; color: var(--soft); }
.together td, .together th { padding: .3rem .35rem; font-size: .86rem; }
.together .note { margin-top: .8rem; }
tr.best td { background: var(--best); }
tr.void td { color: #9aa3b2; }
tr.wrong td { color: #b00020; font-weight: 700; }
.warning { border-left: 4px solid #b00020; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; }
code { background: #eef1f5; border-radius: 4px; padding: .1em .35em; font-size: .9em; }
ul { margin: 0; padding-left: 1.2rem; }
@page { size: A4; margin: 12mm; }
@media print {
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  html { font-size: 11.5px; }
  body { background: #fff; }
  main { max-width: none; padding: 0; }
  section { border: 0; padding: 0; margin-bottom: 1.1rem; }
  .tile { padding: .6rem .8rem; }
  .tile b { font-size: 1.3rem; }
  .plot, .tile, .together, tbody, dl { break-inside: avoid; }
  h1, h2, h3 { break-after: avoid; }
  .part { break-before: page; }
  .warning { border-left: 4px solid #b00020; padding-left: 1rem; }
}
"""


def inline_svg(svg: bytes) -> str:
    """An XML declaration may not stand inside HTML."""
    text = svg.decode("utf-8")
    return text[text.index("<svg") :]


def frame(title: str, body: str) -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""
