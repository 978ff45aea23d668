"""How the document looks, on a screen and on A4."""

from __future__ import annotations

#: Everything the page needs; it loads nothing.
STYLE = """
:root { --ink: #1c2430; --soft: #5a6675; --line: #d5dbe3; --wash: #f4f7fa; --key: #0b5394; }
@page { size: A4; margin: 15mm 17mm; }
* { box-sizing: border-box; }
html { font-size: 15px; }
body { background: #fff; color: var(--ink); font: 1rem/1.45 "Source Sans 3", "Segoe UI",
  "Helvetica Neue", Arial, sans-serif; margin: 0 auto; max-width: 48rem; padding: 1.6rem; }
header { border-bottom: 3px solid var(--key); margin-bottom: 1rem; padding-bottom: .7rem; }
h1 { font-size: 1.75rem; line-height: 1.15; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { break-after: avoid; color: var(--key); font-size: 1.12rem; margin: 1.35rem 0 .4rem; }
p { margin: .45rem 0; }
p, li, td { overflow-wrap: anywhere; }
header p, .soft, figcaption { color: var(--soft); margin: .1rem 0; }
.statement { background: var(--wash); border-left: 4px solid var(--key); font-size: 1.06rem;
  margin: .9rem 0; padding: .65rem 1rem; }
.keys { display: grid; gap: .6rem; grid-template-columns: repeat(4, 1fr); margin: .8rem 0; }
.keys div { border: 1px solid var(--line); border-radius: 6px; padding: .5rem .65rem; }
.keys b { display: block; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
.keys span { color: var(--soft); display: block; font-size: .82rem; line-height: 1.3; }
table { border-collapse: collapse; font-size: .92rem; margin: .5rem 0; width: 100%; }
caption { caption-side: top; color: var(--soft); padding-bottom: .2rem; text-align: left; }
th, td { border-bottom: 1px solid var(--line); padding: .26rem .6rem .26rem 0; text-align: left;
  vertical-align: top; }
thead th { border-bottom: 2px solid var(--ink); }
tr, figure, .statement, .keys, pre { break-inside: avoid; }
.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
.ours { font-weight: 600; }
.pictures { display: grid; gap: 1rem; grid-template-columns: 1fr 1fr; }
figure { margin: .6rem 0; }
img { display: block; height: auto; width: 100%; }
figcaption { font-size: .85rem; line-height: 1.35; }
code, pre { font: .85em/1.45 "Source Code Pro", Consolas, "DejaVu Sans Mono", monospace; }
pre { background: var(--wash); margin: .4rem 0; padding: .5rem .7rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
pre.long { break-inside: auto; columns: 2; column-gap: 1.2rem; font-size: .66em; }
ul { margin: .3rem 0; padding-left: 1.2rem; }
dl { columns: 2; column-gap: 1.6rem; font-size: .92rem; margin: .3rem 0; }
dl div { break-inside: avoid; padding-bottom: .4rem; }
dt { font-weight: 600; }
dd { margin: 0; }
footer { border-top: 1px solid var(--line); color: var(--soft); font-size: .82rem;
  margin-top: 1.4rem; padding-top: .5rem; }
@media print { html { font-size: 9.6pt; } body { line-height: 1.38; max-width: none; padding: 0; }
  th, td { padding-bottom: .16rem; padding-top: .16rem; } }
@media (max-width: 40rem) { .keys, .pictures { grid-template-columns: 1fr 1fr; }
  .pictures { grid-template-columns: 1fr; } dl, pre.long { columns: 1; }
  table { display: block; overflow-x: auto; } }
"""
