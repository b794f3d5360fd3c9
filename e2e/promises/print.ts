/** One figure on one line. */
export function printRow(what: string, value: number | string, unit = ""): void {
  const shown = typeof value === "number" ? Number(value.toPrecision(4)) : value;
  process.stdout.write(`${what.padEnd(60)} ${shown} ${unit}\n`);
}
