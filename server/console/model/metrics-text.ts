/** What the overview reads of a server's metrics, in the text form of Prometheus. Pure. */

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of the metrics `names`, by name. Texts may have many megabytes of others. */
export function samplesOf(text: string, names: readonly string[]): ReadonlyMap<string, Sample[]> {
  const found = new Map<string, Sample[]>(names.map((name) => [name, []]));
  for (const [name, samples] of found) {
    const start = text.startsWith(name) ? 0 : -1;
    for (let at = start === 0 ? 0 : next(text, name, 0); at !== -1; at = next(text, name, at)) {
      const end = text.indexOf("\n", at);
      const sample = parse(text.slice(at + name.length, end === -1 ? undefined : end));
      if (sample !== undefined) samples.push(sample);
    }
  }
  return found;
}

/** Those of a count: kube-apiserver says -1 of what it could not count. */
export function countsIn(samples: readonly Sample[]): Sample[] {
  return samples.filter(({ value }) => value >= 0);
}

/** The next line that begins with `name`. */
function next(text: string, name: string, from: number): number {
  const at = text.indexOf(`\n${name}`, from);
  return at === -1 ? -1 : at + 1;
}

/** @param rest behind the name: `{a="b"} 1`, ` 1`; undefined for a longer name */
function parse(rest: string): Sample | undefined {
  const [, inner = "", value = ""] = /^(?:\{(.*)\})? ([^ ]+)/.exec(rest) ?? [];
  if (value === "") return undefined;
  const labels: Record<string, string> = {};
  for (const [, label = "", quoted = ""] of inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
    labels[label] = quoted.replace(/\\(.)/g, (_all, c: string) => (c === "n" ? "\n" : c));
  }
  return { labels, value: Number(value) };
}
