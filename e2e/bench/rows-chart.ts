/**
 * The rows of `run.js` beside kube-apiserver as one drawing (SVG), in units of a bare `node:https` server. Bars have
 * names and figures, so nothing is said by colour alone.
 */

/** CPU of one operation in units; kube-apiserver was measured with the same load on etcd (performance.md). */
interface Reference {
  readonly title: string;
  readonly kubeApiserver: number;
  readonly wanted: number;
}

const REFERENCES: Readonly<Record<string, Reference>> = {
  get: { title: "get, consistent", kubeApiserver: 9.8, wanted: 3.2 },
  "get-rv0": { title: "get, resourceVersion=0", kubeApiserver: 10.2, wanted: 2.8 },
  create: { title: "create", kubeApiserver: 23, wanted: 15 },
  update: { title: "update", kubeApiserver: 29, wanted: 16 },
  patch: { title: "merge patch", kubeApiserver: 35, wanted: 17 },
  delete: { title: "delete", kubeApiserver: 21, wanted: 13 },
  deletecollection: { title: "each of deletecollection", kubeApiserver: 23, wanted: 7 },
  list: { title: "list", kubeApiserver: 9.2, wanted: 1.6 },
  pages: { title: "list in pages of 500", kubeApiserver: 11.6, wanted: 2.5 },
  watchlist: { title: "streaming list", kubeApiserver: 20, wanted: 1.7 },
  table: { title: "list as a Table", kubeApiserver: 7, wanted: 3 },
  "list-gzip": { title: "list, gzip", kubeApiserver: 18, wanted: 2.5 },
  watch: { title: "event, 500 watchers", kubeApiserver: 1.4, wanted: 1.1 },
};

/** What a scenario cost over HTTP/1.1, in units. */
export interface MeasuredRow {
  readonly scenario: string;
  readonly units: number;
}

const LEFT = 180;
const WIDTH = 560;
const TOP = 62;
const STEP = 40;
const UNITS_MAX = 36;
const TICKS = [0, 5, 10, 15, 20, 25, 30, 35];
const TITLE = "CPU of one operation, in units of a bare HTTPS server";

/** @param basis the line below the title: date, Node.js, machine */
export function toChart(measured: readonly MeasuredRow[], basis: string): string {
  const rows = measured.flatMap(({ scenario, units }) => {
    const reference = REFERENCES[scenario];
    return reference === undefined ? [] : [{ ...reference, units }];
  });
  const bottom = TOP + rows.length * STEP;
  const width = LEFT + WIDTH + 60;
  const height = bottom + 56;
  const ticks = TICKS.map(
    (units) =>
      `<line x1="${xOf(units)}" x2="${xOf(units)}" y1="${TOP - 6}" y2="${bottom}" stroke="#e4e4e4"/><text x="${xOf(units)}" y="${bottom + 16}" text-anchor="middle" fill="#555">${units}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="#222">
<title>${TITLE}: Keelson and kube-apiserver</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="12" y="22" font-weight="600" font-size="14">${TITLE}</text>
<text x="12" y="40" fill="#555">${basis}</text>
${ticks.join("\n")}
${rows.map((row, index) => barsOf(row, TOP + index * STEP)).join("\n")}
${legend(bottom + 40)}
</svg>
`;
}

function barsOf(
  { title, units, kubeApiserver, wanted }: Reference & { units: number },
  top: number,
) {
  return [
    `<text x="${LEFT - 10}" y="${top + 19}" text-anchor="end">${title}</text>`,
    bar(units, top + 2, "#2c6fbb", 'font-weight="600"', wanted),
    bar(kubeApiserver, top + 18, "#b9bec6", 'fill="#555"'),
    `<line x1="${xOf(wanted)}" x2="${xOf(wanted)}" y1="${top}" y2="${top + 18}" stroke="#222" stroke-width="2"/>`,
  ].join("");
}

/** @param clear the figure stands right of this many units, so that no mark crosses it */
function bar(units: number, top: number, fill: string, label: string, clear = 0): string {
  const end = Number(xOf(units));
  const figure = Number(xOf(Math.max(units, clear))) + 7;
  return `<rect x="${LEFT}" y="${top}" width="${(end - LEFT).toFixed(1)}" height="14" fill="${fill}"/><text x="${figure.toFixed(1)}" y="${top + 11}" ${label}>${units.toFixed(units < 10 ? 1 : 0)}</text>`;
}

function legend(y: number): string {
  return `<rect x="${LEFT}" y="${y - 10}" width="14" height="10" fill="#2c6fbb"/><text x="${LEFT + 20}" y="${y}">Keelson</text><rect x="${LEFT + 90}" y="${y - 10}" width="14" height="10" fill="#b9bec6"/><text x="${LEFT + 110}" y="${y}">kube-apiserver</text><line x1="${LEFT + 220}" x2="${LEFT + 220}" y1="${y - 12}" y2="${y + 2}" stroke="#222" stroke-width="2"/><text x="${LEFT + 228}" y="${y}">what Keelson was to reach; shorter is better</text>`;
}

function xOf(units: number): string {
  return (LEFT + (WIDTH * Math.min(units, UNITS_MAX)) / UNITS_MAX).toFixed(1);
}
