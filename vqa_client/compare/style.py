"""How the page of a comparison looks, in light, in dark and on paper."""

STYLE = """
:root { color-scheme: light dark; --ink: #1a1c1e; --paper: #fff; --soft: #f2f4f6; --line: #d5dadf; --dim: #5c6670;
  --won: #0b6e4f; --lost: #a3320b; --accent: #1f5fa8; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --paper: #14171a; --soft: #1f2428;
  --line: #39414a; --dim: #9aa5b0; --won: #5ecfa5; --lost: #f29266; --accent: #7fb4f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 75rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
.quote { font-size: 1.1rem; border-left: .25rem solid var(--accent); padding: .5rem 1rem; background: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
thead th { white-space: normal; overflow-wrap: break-word; min-width: 4.5rem;
  max-width: 13rem; vertical-align: bottom; }
tbody th { font-weight: 400; } tr > :first-child { text-align: left; white-space: normal; min-width: 7rem;
  max-width: 22rem; overflow-wrap: break-word; padding-left: 0; }
td.text, th.text { text-align: left; white-space: normal; min-width: 12rem; max-width: none; }
a { color: var(--accent); text-underline-offset: 3px; }
ul.notes { padding-left: 1.2rem; } ul.notes li { overflow-wrap: anywhere; } .warning { color: var(--lost); }
.dim, figcaption { color: var(--dim); font-size: .875rem; }
.won { color: var(--won); } .lost { color: var(--lost); }
svg { display: block; } svg line { stroke: var(--dim); } svg rect { fill: var(--accent); }
svg circle { fill: var(--ink); }
article { border: 1px solid var(--line); border-radius: .4rem; margin: .75rem 0; padding: .75rem 1rem;
  break-inside: avoid; }
article > header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; justify-content: space-between; }
article h4 { margin: 0; font-size: 1rem; overflow-wrap: anywhere; } article h4 a { color: inherit; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; } .pair > div { min-width: 0; }
@media (max-width: 40rem) { .pair { grid-template-columns: 1fr; } }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0; padding: .5rem; background: var(--soft);
  font: .875rem/1.4 ui-monospace, monospace; max-height: 20rem; overflow-y: auto; }
.images { display: flex; flex-wrap: wrap; gap: .5rem; } figure { margin: 0; max-width: 14rem; }
figure img { max-width: 100%; max-height: 12rem; border: 1px solid var(--line); }
figcaption { overflow-wrap: anywhere; }
@media print { @page { margin: 15mm; } :root { color-scheme: light; font-size: 10.5px; }
  body { font-size: 1rem; padding: 0; max-width: none; } pre { max-height: none; } a { color: inherit; }
  .wide { overflow: visible; } th, td { padding: .2rem .35rem; } thead th { min-width: 0; } svg { width: 100px; }
  tr, figure { break-inside: avoid; } h2, h3 { break-after: avoid; } }
"""
