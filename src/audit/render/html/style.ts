/** The style of the page: light or dark, also for narrow screens and paper. Words and shapes repeat what colors mean. */
export const style = `:root {
  color-scheme: light dark;
  --page: #f6f7f8; --sheet: #ffffff; --soft: #eef0f3; --line: #d5d9df; --text: #1b1e23; --quiet: #565d67; --link: #0b57b0;
  --locked: #b3261e; --at-risk: #8a5300; --open-exchange: #1d5fae; --unknown: #6d3fa0; --deleted: #565d67; --ok: #1c6b3a; --on: #ffffff;
  --starts: #1d5fae; --acknowledgements: #1c6b3a; --failures: #b3261e; --other: #565d67; --band: #b3261e1c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14161a; --sheet: #1b1e23; --soft: #262a31; --line: #3a404a; --text: #e7e9ec; --quiet: #a9b0ba; --link: #8fbcff;
    --locked: #ff938a; --at-risk: #f0be5a; --open-exchange: #8fbcff; --unknown: #cdb0f5; --deleted: #a9b0ba; --ok: #7ed49a; --on: #14161a;
    --starts: #8fbcff; --acknowledgements: #7ed49a; --failures: #ff938a; --other: #a9b0ba; --band: #ff938a26;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
header, main, footer { max-width: 72rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2rem; }
footer { padding-top: 1rem; padding-bottom: 3rem; color: var(--quiet); }
h1, h2, h3, h4 { line-height: 1.25; text-wrap: balance; overflow-wrap: anywhere; }
h1 { margin: 0 0 .25rem; font-size: 1.75rem; }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.3rem; }
h3 { margin: 1.25rem 0 .4rem; font-size: 1.05rem; }
h4 { margin: 1rem 0 .25rem; font-size: .95rem; }
p { margin: .4rem 0; }
ul, ol { margin: .4rem 0; padding-left: 1.4rem; }
a { color: var(--link); }
time { font-variant-numeric: tabular-nums; white-space: nowrap; }
bdi, .value { overflow-wrap: anywhere; }
abbr { text-decoration: none; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; padding: .5rem 1rem; background: var(--sheet); color: var(--link); z-index: 1; }
.skip:focus { left: .5rem; top: .5rem; }
.found { font-size: 1.15rem; font-weight: 600; }
.warning { padding: .6rem 1rem; border-left: 5px solid var(--at-risk); background: var(--soft); border-radius: .35rem; }
.quiet, .place { color: var(--quiet); }
.place { font-size: .875rem; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.tile { display: flex; flex-direction: column-reverse; padding: .75rem 1rem; border: 1px solid var(--line); border-left: 5px solid var(--hue); border-radius: .5rem; background: var(--sheet); }
.tile dd { margin: 0; font-size: 1.9rem; font-weight: 650; line-height: 1.15; color: var(--hue); font-variant-numeric: tabular-nums; }
.tile.none dd { color: var(--quiet); font-weight: 400; }
.tile.none { border-left-color: var(--line); }
.locked { --hue: var(--locked); } .at-risk { --hue: var(--at-risk); } .open-exchange { --hue: var(--open-exchange); }
.unknown { --hue: var(--unknown); } .deleted { --hue: var(--deleted); } .ok { --hue: var(--ok); }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; background: var(--hue); color: var(--on); font-size: .875rem; font-weight: 600; white-space: nowrap; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 0 2rem; }
.columns h3 { margin-top: .5rem; }
.notes { padding: .6rem 1rem .6rem 2rem; background: var(--soft); border-radius: .5rem; }
table { width: 100%; border-collapse: collapse; background: var(--sheet); font-size: .925rem; }
th, td { padding: .4rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { color: var(--quiet); font-weight: 600; white-space: nowrap; border-bottom-width: 2px; }
tbody th { font-weight: 500; }
.uuid { white-space: nowrap; }
.vaults th[scope=row] { font-size: .875rem; font-variant-numeric: tabular-nums; }
.tally { margin: 0; padding: 0; list-style: none; }
#filter { display: flex; flex-wrap: wrap; gap: .75rem 1rem; align-items: end; margin: 1rem 0; padding: 1rem; background: var(--soft); border-radius: .5rem; }
#filter > label { display: flex; flex-direction: column; gap: .2rem; font-size: .875rem; color: var(--quiet); }
#filter > label:first-child { flex: 1 1 24rem; }
fieldset { display: flex; flex-wrap: wrap; gap: .2rem .9rem; align-items: center; min-height: 2.4rem; margin: 0; padding: 0; border: 0; }
legend { padding: 0; font-size: .875rem; color: var(--quiet); }
.check { white-space: nowrap; }
input, button { font: inherit; color: var(--text); accent-color: var(--link); }
input[type=search], input[type=datetime-local], button { min-height: 2.4rem; padding: .3rem .6rem; background: var(--sheet); border: 1px solid var(--quiet); border-radius: .35rem; max-width: 100%; }
button { cursor: pointer; }
button:hover { border-color: var(--link); color: var(--link); }
.vault { margin: 1.25rem 0; padding: .25rem 1.25rem 1rem; background: var(--sheet); border: 1px solid var(--line); border-radius: .6rem; scroll-margin-top: 1rem; }
.vault:target { border-color: var(--link); box-shadow: 0 0 0 2px var(--link); }
.vault h3 { font-size: 1.1rem; margin-bottom: .25rem; font-variant-numeric: tabular-nums; }
.standing { color: var(--quiet); }
.sure { font-style: italic; }
.cause { font-size: 1.1rem; font-weight: 600; }
.advice { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)); gap: .75rem; margin: .75rem 0; }
.advice > div { padding: .5rem .9rem .6rem; background: var(--soft); border-radius: .4rem; }
.advice h4 { margin: 0; color: var(--quiet); font-size: .875rem; }
.advice p { margin: .2rem 0 0; }
code { padding: .1rem .3rem; background: var(--page); border: 1px solid var(--line); border-radius: .25rem; font: .85em/1.7 ui-monospace, "Liberation Mono", monospace; }
code span { display: inline-block; max-width: 100%; overflow-wrap: anywhere; }
.copy { min-height: 0; padding: 0 .45rem; font-size: .8rem; }
.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .2rem 1rem; margin: .75rem 0; font-size: .95rem; }
.facts dt { color: var(--quiet); }
.facts dd, .facts p { margin: 0; }
.chain { font-size: .95rem; }
.chain .locks, strong.locks { color: var(--locked); }
.chain .more { list-style: none; color: var(--quiet); }
.odd::marker { color: var(--at-risk); }
ul.odd strong, p.odd strong { color: var(--at-risk); }
figure { margin: 1rem 0 .5rem; }
figcaption { color: var(--quiet); font-size: .875rem; }
details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--link); width: fit-content; }
.events { font-size: .875rem; margin-top: .4rem; }
.events p { margin: 0; }
.events th { font-weight: inherit; }
.events td:nth-child(2) { white-space: nowrap; }
.events tbody th { border-left: 4px solid transparent; }
.events .cause { font-size: inherit; font-weight: inherit; }
.events .cause th { border-left-color: var(--locked); }
.timeline { display: block; width: 100%; height: auto; font-size: 11.5px; }
.timeline text { fill: var(--text); }
.lane { fill: var(--soft); }
.lane:nth-of-type(even) { fill: var(--sheet); }
.timeline .name { fill: var(--quiet); }
.timeline .tick { text-anchor: middle; font-variant-numeric: tabular-nums; }
.timeline .who { fill: var(--quiet); font-size: 10px; }
.timeline .day { fill: var(--quiet); }
.axis { stroke: var(--quiet); fill: none; }
.gap { stroke: var(--quiet); stroke-width: 1.5; fill: none; }
.event { fill: var(--lane); }
.starts { --lane: var(--starts); } .acknowledgements { --lane: var(--acknowledgements); } .failures { --lane: var(--failures); } .other { --lane: var(--other); }
.halo { fill: none; stroke: var(--locked); stroke-width: 1.5; }
.locks .halo { stroke-width: 3; }
.timeline .number { fill: var(--locked); font-weight: 700; }
.timeline .mark { fill: var(--locked); font-weight: 700; }
.locking { stroke: var(--locked); stroke-width: 2; stroke-dasharray: 5 3; }
rect.locked { fill: var(--band); stroke: var(--locked); stroke-width: .75; }
rect.open { fill: none; stroke: var(--starts); stroke-width: 1.25; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; list-style: none; font-size: .875rem; }
.legend li { display: flex; align-items: center; gap: .4rem; }
.key { width: 1.25rem; height: 1.25rem; flex: none; }
/* Tables are lists where their columns would be narrow. */
@media (max-width: 70rem) {
  table, tbody, tr, th, td { display: block; }
  thead { position: absolute; clip-path: inset(50%); }
  tr { padding: .5rem .25rem; border-bottom: 1px solid var(--line); }
  tbody th, td { padding: .1rem .35rem; border: 0; }
  td { position: relative; padding-left: 7rem; }
  td::before { content: attr(data-label); position: absolute; left: .35rem; color: var(--quiet); }
  td:empty { display: none; }
  .vaults tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr)); }
  .vaults tbody th { grid-column: 1 / -1; }
  .events .cause { border-left: 4px solid var(--locked); }
}
@media (max-width: 45rem) {
  header, main, footer { padding-left: .75rem; padding-right: .75rem; }
  .vault { padding-left: .75rem; padding-right: .75rem; }
  .facts { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .facts dd { margin-bottom: .4rem; }
  .tiles { grid-template-columns: repeat(2, 1fr); }
  fieldset { min-height: 0; }
  .vault h3 { font-size: .9rem; }
  .uuid { white-space: normal; overflow-wrap: anywhere; }
  figure, .legend, .scale { display: none; }
}
@media print {
  details::details-content { content-visibility: visible; block-size: auto; }
  details table { font-size: .7rem; }
  details th, details td { overflow-wrap: anywhere; }
  :root {
    --page: #fff; --sheet: #fff; --soft: #fff; --line: #999; --text: #000; --quiet: #333; --link: #000; --on: #000;
    --locked: #8f1d17; --at-risk: #6b4000; --open-exchange: #164a88; --unknown: #52307a; --deleted: #333; --ok: #14502b;
    --starts: #164a88; --acknowledgements: #14502b; --failures: #8f1d17; --other: #333; --band: #b3261e1c;
  }
  @page { margin: 14mm; }
  body { font-size: 10pt; }
  header, main, footer { max-width: none; padding: 0; }
  #filter, .skip, .copy { display: none !important; }
  .badge { border: 1.5px solid var(--hue); background: none; color: var(--hue); }
  .advice > div, .notes { border: 1px solid var(--line); }
  .vault { border: 0; border-top: 2px solid var(--text); border-radius: 0; padding: 0; }
  table { font-size: 7.5pt; }
  th, td { padding: .25rem .35rem; }
  h2, h3, h4, .standing, #shown { break-after: avoid; }
  figure, .advice, .tile, tr, li { break-inside: avoid; }
  thead { display: table-header-group; }
  a { text-decoration: none; }
  .uuid { white-space: normal; }
}
`;
