/** The style of the page: light, dark and on paper, from 320 pixels on. Words and shapes repeat what colors mean. */
export const style = `:root {
  color-scheme: light dark;
  --page: #fff; --soft: #f2f4f6; --line: #d5d9df; --text: #1b1e23; --quiet: #565d67; --link: #0b57b0; --band: #b3261e22;
  --bad: #b3261e; --warn: #8a5300; --open: #1d5fae; --unknown: #6d3fa0; --good: #1c6b3a;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #16181c; --soft: #22262c; --line: #3a404a; --text: #e7e9ec; --quiet: #a9b0ba; --link: #8fbcff; --band: #ff938a2e;
    --bad: #ff938a; --warn: #f0be5a; --open: #8fbcff; --unknown: #cdb0f5; --good: #7ed49a;
  }
}
.locked { --hue: var(--bad); } .at-risk { --hue: var(--warn); } .open-exchange { --hue: var(--open); }
.unknown { --hue: var(--unknown); } .deleted { --hue: var(--quiet); } .ok { --hue: var(--good); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1.25rem clamp(.75rem, 3vw, 2rem) 3rem; background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
header { padding-left: 1rem; border-left: 6px solid var(--hue); }
h1 { margin: 0; font-size: 1.4rem; line-height: 1.3; } h2 { margin: 2rem 0 .5rem; font-size: 1.15rem; } p { margin: .5rem 0; }
a { color: var(--link); } b { color: var(--hue); }
h2 b, .scroll tbody th { white-space: nowrap; }
bdi, code { overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.found { margin-top: .75rem; font-weight: 600; }
.warning { padding: .5rem .75rem; background: var(--soft); border: 1px solid var(--warn); border-radius: .3rem; }
.quiet, dt, thead th, .ends, .legend { color: var(--quiet); } .quiet, .ends, .legend { font-size: .875rem; }
article + article { border-top: 1px solid var(--line); scroll-margin-top: 1rem; } article:target h2 { background: var(--soft); }
dl { display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: .25rem 1rem; margin: .5rem 0; }
dt { grid-column: 1; } dd { grid-column: 2; margin: 0; }
code { display: block; padding: .3rem .6rem; background: var(--soft); border: 1px solid var(--line); border-radius: .3rem; font: .875rem/1.5 ui-monospace, "Liberation Mono", monospace; user-select: all; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: inherit; }
.scroll { overflow-x: auto; } .scroll bdi { overflow-wrap: break-word; } .scroll td { max-width: 24rem; } .scroll td:nth-child(3) { min-width: 6rem; }
tr.cause > :first-child, tr.locks > :first-child { border-left: 4px solid var(--bad); padding-left: .5rem; } tr.locks { color: var(--bad); font-weight: 600; }
summary { cursor: pointer; color: var(--link); width: fit-content; margin: .75rem 0; }
.strip { margin: 1rem 0 .25rem; table-layout: fixed; }
.strip th { width: 12rem; } .strip td { padding: .3rem 0; } .strip tr:last-child td { border: 0; }
.strip td > svg { display: block; width: 100%; overflow: visible; }
.ends span:last-child { float: right; } .legend { display: flex; flex-wrap: wrap; gap: .1rem 1.25rem; margin: 0; padding: 0; list-style: none; }
.legend svg { vertical-align: middle; margin-right: .3rem; }
.start { fill: var(--open); } .acknowledged { fill: var(--good); } .refused { fill: var(--bad); } .other { fill: var(--quiet); }
rect.locked { fill: var(--band); } .cause path { stroke: var(--text); stroke-width: 1.5; }
@media (max-width: 40rem) {
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dt, dd { grid-column: 1; }
  dd:not(:has(+ dd)) { margin-bottom: .5rem; }
  .strip th { width: 6rem; }
}
@media print {
  body { font-size: 10pt; } table { font-size: 7.5pt; }
  details::details-content { content-visibility: visible; block-size: auto; }
  .scroll { overflow: visible; } .scroll bdi { overflow-wrap: anywhere; }
  tr, dd, .strip { break-inside: avoid; } h2 { break-after: avoid; }
}
@media print, (max-width: 40rem) { .scroll tbody th { white-space: normal; min-width: 6.5rem; } }
`;
