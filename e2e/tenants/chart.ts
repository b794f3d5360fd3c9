/**
 * The run as one drawing (SVG): for each mode, how long 99 of 100 polite requests took in each second, on a
 * logarithmic scale, with the parts of the run as named bands behind. Nothing is said by colour alone.
 */
import { latency, type Mode, type Part } from "./part.js";
import type { Sample } from "./polite.js";

const LEFT = 70;
const TOP = 34;
const WIDTH = 900;
const HEIGHT = 170;
const GAP = 58;
const MS_MIN = 1;
const MS_MAX = 10_000;

const TITLES: Readonly<Record<Mode, string>> = {
  fair: "With priority and fairness",
  unfair: "Without: the two numbers alone",
};

const LINES: readonly { name: string; style: string; has: (sample: Sample) => boolean }[] = [
  {
    name: "three polite tenants",
    style: 'stroke="#2c6fbb"',
    has: ({ who }) => /^polite/.test(who),
  },
  {
    name: "exempt",
    style: 'stroke="#2a7f62" stroke-dasharray="5 3"',
    has: ({ who }) => who === "exempt",
  },
  {
    name: "leases",
    style: 'stroke="#d98c00" stroke-dasharray="1 3"',
    has: ({ who }) => who === "leases",
  },
];

export function toChart(parts: readonly Part[]): string {
  const modes = [...new Set(parts.map(({ mode }) => mode))];
  const panels = modes.map((mode, index) =>
    panelOf(
      TITLES[mode],
      parts.filter((part) => part.mode === mode),
      TOP + index * (HEIGHT + GAP),
    ),
  );
  const height = TOP + modes.length * (HEIGHT + GAP) + 8;
  const width = LEFT + WIDTH + 20;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="#222">
<title>Latency of three polite tenants beside a greedy one, 99 of 100 requests in each second</title>
<rect width="${width}" height="${height}" fill="#fff"/>
${panels.join("\n")}
${legend(height - 10)}
</svg>
`;
}

function panelOf(title: string, parts: readonly Part[], top: number): string {
  const total = parts.reduce((sum, { seconds }) => sum + seconds, 0);
  const x = (second: number) => LEFT + (second / total) * WIDTH;
  const y = (ms: number) => {
    const bounded = Math.min(MS_MAX, Math.max(MS_MIN, ms));
    return top + HEIGHT * (1 - Math.log(bounded / MS_MIN) / Math.log(MS_MAX / MS_MIN));
  };
  const bands: string[] = [];
  const paths = LINES.map(() => "");
  let from = 0;
  for (const part of parts) {
    const fill = part.greedy === "none" ? "#f6f6f6" : "#f7dede";
    const name = part.greedy === "none" ? "alone" : `greedy: ${part.greedy}`;
    const [left, right] = [x(from), x(from + part.seconds)];
    bands.push(
      `<rect x="${left.toFixed(1)}" y="${top}" width="${(right - left).toFixed(1)}" height="${HEIGHT}" fill="${fill}"/>`,
      `<text x="${((left + right) / 2).toFixed(1)}" y="${top + HEIGHT + 16}" text-anchor="middle">${name}</text>`,
    );
    for (const [index, { has }] of LINES.entries()) {
      let isFirst = true;
      for (let second = 0; second < Math.floor(part.seconds); second++) {
        const inIt = part.samples.filter(
          (sample) => has(sample) && Math.floor((sample.atMs - part.fromMs) / 1_000) === second,
        );
        if (inIt.length === 0) continue;
        const at = `${x(from + second + 0.5).toFixed(1)} ${y(latency(inIt, 0.99)).toFixed(1)}`;
        paths[index] += `${isFirst ? "M" : "L"}${at}`;
        isFirst = false;
      }
    }
    from += part.seconds;
  }
  const ticks = [1, 10, 100, 1_000, 10_000].map(
    (ms) =>
      `<line x1="${LEFT}" x2="${LEFT + WIDTH}" y1="${y(ms)}" y2="${y(ms)}" stroke="#ccc"/><text x="${LEFT - 8}" y="${y(ms) + 4}" text-anchor="end">${ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`}</text>`,
  );
  const lines = LINES.map(
    ({ style }, index) => `<path d="${paths[index]}" fill="none" stroke-width="2" ${style}/>`,
  );
  const heading = `<text x="${LEFT}" y="${top - 10}" font-weight="600" font-size="14">${title}</text>`;
  return [heading, ...bands, ...ticks, ...lines].join("\n");
}

function legend(y: number): string {
  return LINES.map(({ name, style }, index) => {
    const x = LEFT + index * 220;
    return `<line x1="${x}" x2="${x + 30}" y1="${y - 4}" y2="${y - 4}" stroke-width="2" ${style}/><text x="${x + 38}" y="${y}">${name}</text>`;
  }).join("\n");
}
