/** A trace as text: spans below the one that they are part of, each with where it lies in time. */
import type { CollectedSpan } from "../tools/otlp-collector.js";

const COLUMNS = 40;

/** @param spans of one trace */
export function renderWaterfall(spans: readonly CollectedSpan[]): string {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const startMs = Math.min(...spans.map((span) => span.startMs));
  const totalMs = Math.max(...spans.map((span) => span.endMs)) - startMs;
  const column = (ms: number) => Math.round((ms / totalMs) * COLUMNS);
  const rows: { name: string; time: string; bar: string }[] = [];
  const add = (span: CollectedSpan, depth: number) => {
    const from = column(span.startMs - startMs);
    const width = Math.max(1, column(span.endMs - startMs) - from);
    rows.push({
      name: `${"  ".repeat(depth)}${span.service}: ${span.name}`,
      time: `${(span.endMs - span.startMs).toFixed(2)} ms`,
      bar: `${" ".repeat(Math.min(from, COLUMNS - 1))}${"█".repeat(width)}`,
    });
    const parts = spans.filter(({ parentId }) => parentId === span.spanId);
    for (const part of parts.toSorted((a, b) => a.startMs - b.startMs)) add(part, depth + 1);
  };
  for (const span of spans) if (!known.has(span.parentId)) add(span, 0);
  const nameWidth = Math.max(...rows.map(({ name }) => name.length));
  const timeWidth = Math.max(...rows.map(({ time }) => time.length));
  return rows
    .map(({ name, time, bar }) => `${name.padEnd(nameWidth)}  ${time.padStart(timeWidth)}  |${bar}`)
    .join("\n");
}
