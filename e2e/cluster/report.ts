/**
 * The report of a run as one HTML page that needs nothing else: a verdict for each scenario, and its
 * plots on one time axis (requests, latency, how late events came), with the faults as bands behind.
 */
import type { ScenarioReport } from "./run-scenario.js";
import type { Second } from "./series.js";

const WIDTH = 900;
const HEIGHT = 120;
const LEFT = 60;

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
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: ${WIDTH + LEFT + 40}px; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem; border-bottom: 1px solid #ddd; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.kept { color: #2a7f62; } .broken { color: #c0392b; }
svg { display: block; margin: .3rem 0 1rem; } svg text { font-size: 11px; fill: #555; }
figcaption { font-weight: 600; margin-top: .6rem; } figure { margin: 0; }
</style></head><body>
<h1>${toHtml(facts.title)}</h1>
<p>${toHtml(facts.topology)}. ${toHtml(facts.load)}. ${kept} of ${reports.length} promises kept.</p>
<table><tr><th>scenario</th><th>promise</th><th>requests</th><th>failed</th><th>relists</th><th>recovered after</th></tr>
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
  const verdict = broken.length === 0 ? "kept" : "broken";
  return `<tr class="${verdict}"><td><a href="#${scenario.name}">${scenario.name}</a></td><td>${toHtml(scenario.promise)}</td><td class="number">${result.operations}</td><td class="number">${result.failures}</td><td class="number">${result.relists}</td><td class="number">${recoverySeconds === undefined ? "never" : `${recoverySeconds.toFixed(1)} s`}</td></tr>`;
}

function section(report: ScenarioReport): string {
  const { scenario, faults, result, broken, connections } = report;
  const reasons = [...result.reasons].map(([reason, count]) => `${count} × ${reason}`).join(", ");
  return `<h2 id="${scenario.name}">${scenario.name}</h2>
<p>${toHtml(scenario.promise)}. <strong class="${broken.length === 0 ? "kept" : "broken"}">${broken.length === 0 ? "Kept." : toHtml(broken.slice(0, 10).join("; "))}</strong></p>
<p>${result.events} watch events in ${result.watches} watches; failed: ${toHtml(reasons || "none")}; connections by replica at the end: ${connections.join(", ") || "not counted"}.
Faults: ${faults.map(({ verb, from, to }) => `${toHtml(verb)} (${from.toFixed(1)} to ${(to ?? from).toFixed(1)} s)`).join(", ") || "none"}.</p>
${PLOTS.map((plot) => figure(plot, report)).join("\n")}`;
}

function figure({ title, unit, lines }: Plot, { seconds, faults }: ScenarioReport): string {
  const values = seconds.flatMap((second) => lines.map(({ of }) => of(second) ?? 0));
  const top = Math.max(1, ...values);
  const last = Math.max(1, seconds.length - 1);
  const x = (at: number) => LEFT + (at / last) * WIDTH;
  const y = (value: number) => HEIGHT - (value / top) * (HEIGHT - 10);
  const bands = faults.map(({ from, to }) => {
    const width = Math.max(2, x(to ?? from) - x(from));
    return `<rect x="${x(from).toFixed(1)}" y="0" width="${width.toFixed(1)}" height="${HEIGHT}" fill="#c0392b" opacity="0.12"/>`;
  });
  const paths = lines.map(({ color, of }) => {
    return `<path class="line" d="${pathOf(seconds, of, x, y)}" fill="none" stroke="${color}" stroke-width="1.5"/>`;
  });
  const legend = lines.map(({ name, color }) => `<span style="color:${color}">■</span> ${name}`);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const at = Math.round(last * share);
    return `<text x="${x(at).toFixed(1)}" y="${HEIGHT + 14}" text-anchor="middle">${at} s</text>`;
  });
  return `<figure><figcaption>${title} &nbsp; <small>${legend.join(" &nbsp; ")}</small></figcaption>
<svg width="${WIDTH + LEFT + 20}" height="${HEIGHT + 20}" role="img" aria-label="${title}">
${bands.join("")}<line x1="${LEFT}" y1="${HEIGHT}" x2="${LEFT + WIDTH}" y2="${HEIGHT}" stroke="#999"/>
<text x="${LEFT - 6}" y="14" text-anchor="end">${format(top)}${unit}</text><text x="${LEFT - 6}" y="${HEIGHT}" text-anchor="end">0</text>
${paths.join("\n")}
${ticks.join("")}
</svg></figure>`;
}

/** A gap where there is no value. */
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
      parts.push(`${isDrawing ? "L" : "M"}${x(second.at).toFixed(1)} ${y(value).toFixed(1)}`);
    }
    isDrawing = value !== undefined;
  }
  return parts.join("");
}

function format(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(2);
}

function toHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
