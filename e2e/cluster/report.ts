/**
 * The report of a run as one HTML page that needs nothing else: a verdict for each scenario, and its
 * plots on one time axis (requests, latency, how late events came), with the faults as numbered bands
 * behind. Nothing is said by colour alone.
 */
import type { ScenarioReport } from "./run-scenario.js";
import type { Second } from "./series.js";

const WIDTH = 900;
const HEIGHT = 120;
const LEFT = 70;
/** Above the plots, for the numbers of faults. */
const TOP = 18;
const TICKS_MAX = 10;

interface Line {
  readonly name: string;
  readonly color: string;
  readonly of: (second: Second) => number | undefined;
}

interface Plot {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly Line[];
}

const PLOTS: readonly Plot[] = [
  {
    title: "Requests in each second",
    unit: "",
    lines: [
      { name: "succeeded", color: "#2a7f62", of: ({ good }) => good },
      { name: "failed", color: "#c0392b", of: ({ failed }) => failed },
    ],
  },
  {
    title: "Latency",
    unit: " ms",
    lines: [
      { name: "half", color: "#2c6fbb", of: ({ p50Ms }) => p50Ms },
      { name: "99 of 100", color: "#8e44ad", of: ({ p99Ms }) => p99Ms },
    ],
  },
  {
    title: "How late watch events came, 99 of 100",
    unit: " ms",
    lines: [{ name: "late", color: "#d98c00", of: ({ stalenessMs }) => stalenessMs }],
  },
];

export interface RunFacts {
  readonly title: string;
  /** "3 replicas, 3 etcd members, HAProxy": what was run. */
  readonly topology: string;
  readonly load: string;
}

export function toJsonReport(facts: RunFacts, reports: readonly ScenarioReport[]): string {
  const plain = reports.map((report) => ({
    ...report,
    result: { ...report.result, reasons: Object.fromEntries(report.result.reasons) },
  }));
  // Infinity is no JSON.
  const replacer = (_: string, value: unknown) =>
    value === Number.POSITIVE_INFINITY ? "any" : value;
  return `${JSON.stringify({ ...facts, reports: plain }, replacer, 1)}\n`;
}

export function toHtmlReport(facts: RunFacts, reports: readonly ScenarioReport[]): string {
  const kept = reports.filter(({ broken }) => broken.length === 0).length;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${toHtml(facts.title)}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; padding: 0 1rem; max-width: ${WIDTH + LEFT + 40}px; color: #222; background: #fff; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .2rem; border-top: 1px solid #ddd; padding-top: 1.2rem; }
p { margin: .3rem 0; } .summary { font-size: 1.1rem; font-weight: 600; margin: .6rem 0 1rem; }
table { border-collapse: collapse; width: 100%; } td, th { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td:first-child { white-space: nowrap; } th.number, td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
a { color: inherit; } ol { margin: .3rem 0; padding-left: 1.4rem; }
.verdict { font-weight: 600; white-space: nowrap; } .kept { color: #2a7f62; } .broken { color: #c0392b; }
svg { display: block; width: 100%; height: auto; margin: .2rem 0 .8rem; } svg text { font-size: 11px; fill: #555; }
figcaption { font-weight: 600; margin-top: .8rem; } figcaption small { font-weight: 400; margin-left: .8rem; } figure { margin: 0; }
@media print { h2 { break-before: page; border: 0; } }
</style></head><body>
<h1>${toHtml(facts.title)}</h1>
<p>${toHtml(facts.topology)}. ${toHtml(facts.load)}.</p>
<p class="summary ${kept === reports.length ? "kept" : "broken"}">${kept} of ${reports.length} promises kept</p>
<table><tr><th>scenario</th><th>promise</th><th>verdict</th><th class="number">requests</th><th class="number">failed</th><th class="number">relists</th><th class="number">recovered after</th></tr>
${reports.map(row).join("\n")}
</table>
${reports.map(section).join("\n")}
<script>
// How many lines have a length on the screen: a test looks at it.
document.body.dataset.drawn = [...document.querySelectorAll("path.line")].filter((line) => line.getTotalLength() > 10).length;
</script>
</body></html>
`;
}

function row({ scenario, result, recoverySeconds, broken }: ScenarioReport): string {
  const cells = [result.operations, result.failures, result.relists].map(
    (count) => `<td class="number">${count}</td>`,
  );
  const limit = scenario.recoverySecondsMax;
  const recovered = recoverySeconds === undefined ? "never" : `${recoverySeconds.toFixed(1)} s`;
  return `<tr><td><a href="#${scenario.name}">${scenario.name}</a></td><td>${toHtml(scenario.promise)}</td><td>${verdict(broken)}</td>${cells.join("")}<td class="number">${recovered} of ${limit} s</td></tr>`;
}

function verdict(broken: readonly string[]): string {
  return broken.length === 0
    ? '<span class="verdict kept">✓ kept</span>'
    : '<span class="verdict broken">✗ broken</span>';
}

function section(report: ScenarioReport): string {
  const { scenario, faults, result, broken, connections } = report;
  const reasons = [...result.reasons].map(([reason, count]) => `${count} × ${reason}`).join(", ");
  const steps = faults.map(({ verb, from, to, note }) => {
    const times = `${from.toFixed(1)} to ${(to ?? from).toFixed(1)} s`;
    return `<li>${toHtml(verb)}, ${times}${note === undefined ? "" : `: ${toHtml(note)}`}</li>`;
  });
  return `<h2 id="${scenario.name}">${scenario.name} ${verdict(broken)}</h2>
<p>${toHtml(scenario.promise)}.</p>
${
  broken.length === 0
    ? ""
    : `<ul class="broken">${broken
        .slice(0, 10)
        .map((text) => `<li>${toHtml(text)}</li>`)
        .join("")}</ul>`
}
<ol>${steps.join("")}</ol>
<p>${result.operations} requests; failed: ${toHtml(reasons || "none")}, of which ${result.deferred} were told when to come again; sent again by their client: ${result.retries}. ${result.events} events in ${result.watches} watches. Connections by replica at the end: ${connections.join(", ") || "not counted"}.</p>
${PLOTS.map((plot) => figure(plot, report)).join("\n")}`;
}

function figure({ title, unit, lines }: Plot, { seconds, faults }: ScenarioReport): string {
  const values = seconds.flatMap((second) => lines.map(({ of }) => of(second) ?? 0));
  const top = roundUp(Math.max(1, ...values));
  const last = Math.max(1, seconds.length - 1);
  const bottom = TOP + HEIGHT;
  const x = (at: number) => LEFT + (at / last) * WIDTH;
  const y = (value: number) => bottom - (value / top) * HEIGHT;
  const bands = faults.map(({ from, to }, index) => {
    const width = Math.max(2, x(to ?? from) - x(from));
    const middle = x(from) + width / 2;
    return `<rect x="${x(from).toFixed(1)}" y="${TOP}" width="${width.toFixed(1)}" height="${HEIGHT}" fill="#c0392b" opacity="0.12"/><text x="${middle.toFixed(1)}" y="${TOP - 5}" text-anchor="middle">${index + 1}</text>`;
  });
  const paths = lines.map(({ color, of }) => {
    return `<path class="line" d="${pathOf(seconds, of, x, y)}" fill="none" stroke="${color}" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"/>`;
  });
  const legend = lines.map(({ name, color }) => `<span style="color:${color}">■</span> ${name}`);
  const step = roundUp(last / TICKS_MAX);
  const ticks = Array.from({ length: Math.floor(last / step) + 1 }, (_, index) => {
    const at = index * step;
    return `<text x="${x(at).toFixed(1)}" y="${bottom + 14}" text-anchor="middle">${at} s</text>`;
  });
  const grid = [0, 0.5, 1].map((share) => {
    const at = y(top * share).toFixed(1);
    const label = share === 0 ? "0" : `${format(top * share)}${unit}`;
    return `<line x1="${LEFT}" y1="${at}" x2="${LEFT + WIDTH}" y2="${at}" stroke="${share === 0 ? "#999" : "#e4e4e4"}"/><text x="${LEFT - 6}" y="${(y(top * share) + 4).toFixed(1)}" text-anchor="end">${label}</text>`;
  });
  return `<figure><figcaption>${title}<small>${legend.join(" &nbsp; ")}</small></figcaption>
<svg viewBox="0 0 ${WIDTH + LEFT + 20} ${bottom + 20}" role="img" aria-label="${title}">
${grid.join("")}${bands.join("")}
${paths.join("\n")}
${ticks.join("")}
</svg></figure>`;
}

/** To 1, 2 or 5 with zeros behind: numbers that people read at a glance. */
function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return ([1, 2, 5, 10].find((step) => step * unit >= value) ?? 10) * unit;
}

/** A gap where there is no value; a dot where there is one alone. */
function pathOf(
  seconds: readonly Second[],
  of: (second: Second) => number | undefined,
  x: (at: number) => number,
  y: (value: number) => number,
): string {
  let isDrawing = false;
  const parts: string[] = [];
  for (const second of seconds) {
    const value = of(second);
    if (value !== undefined) {
      const point = `${x(second.at).toFixed(1)} ${y(value).toFixed(1)}`;
      parts.push(isDrawing ? `L${point}` : `M${point}h0.01`);
    }
    isDrawing = value !== undefined;
  }
  return parts.join("");
}

function format(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function toHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
