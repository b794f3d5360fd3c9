/** The rows as one drawing (SVG): how many times what is wanted each takes, on a logarithmic scale. */

export interface Row {
  readonly what: string;
  readonly wanted: number;
  readonly measured: number;
  readonly unit: string;
  readonly note: string;
}

const LEFT = 290;
const WIDTH = 420;
const TOP = 58;
const STEP = 34;
const TIMES_MIN = 0.1;
const TIMES_MAX = 30;
const TICKS = [0.1, 0.3, 1, 3, 10, 30];

export function toChart(rows: readonly Row[], basis: string): string {
  const bottom = TOP + rows.length * STEP;
  const width = LEFT + WIDTH + 150;
  const height = bottom + 34;
  const ticks = TICKS.map((times) => {
    const x = xOf(times).toFixed(1);
    const stroke = times === 1 ? "#222" : "#ddd";
    const label = times === 1 ? "as wanted" : `${times} times`;
    return `<line x1="${x}" x2="${x}" y1="${TOP - 6}" y2="${bottom}" stroke="${stroke}"/><text x="${x}" y="${bottom + 18}" text-anchor="middle">${label}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="#222">
<title>What control planes cost, as a share of what is wanted</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="12" y="22" font-weight="600" font-size="14">What control planes cost, as a share of what is wanted</text>
<text x="12" y="40" fill="#555">${escaped(basis)}</text>
${ticks.join("\n")}
${rows.map((row, index) => barOf(row, TOP + index * STEP)).join("\n")}
</svg>
`;
}

function barOf({ what, wanted, measured, unit }: Row, top: number): string {
  const times = measured / wanted;
  const end = xOf(times);
  const fill = times <= 1 ? "#2a7f62" : "#d98c00";
  const value = `${measured.toFixed(measured < 10 ? 2 : 0)} ${unit} of ${wanted}`;
  return `<text x="${LEFT - 10}" y="${top + 18}" text-anchor="end">${escaped(what)}</text><rect x="${LEFT}" y="${top + 4}" width="${(end - LEFT).toFixed(1)}" height="20" fill="${fill}"/><text x="${(end + 6).toFixed(1)}" y="${top + 18}">${escaped(value)}</text>`;
}

function xOf(times: number): number {
  const bounded = Math.min(TIMES_MAX, Math.max(TIMES_MIN, times));
  return LEFT + (WIDTH * Math.log(bounded / TIMES_MIN)) / Math.log(TIMES_MAX / TIMES_MIN);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
