/**
 * The process's logger: pino on standard error, as JSON for collectors or as text for people. Nothing
 * else of ours knows pino.
 */
import { destination, pino } from "pino";
import type { Logger } from "../storage/base/logger.js";
import type { Config } from "./config/config.js";

export function createLogger({ logLevel, logFormat }: Config): Logger {
  // Standard error, so that what is printed for people stays apart from what is logged.
  const stream = destination({ dest: 2, sync: true });
  const formatters = { level: (label: string) => ({ level: label }) };
  const timestamp = pino.stdTimeFunctions.isoTime;
  const base = { level: logLevel, base: null, timestamp, formatters };
  return pino(base, logFormat === "json" ? stream : textStream(stream));
}

/** pino's JSON lines as one readable line each: time, level, message, the rest. */
function textStream(stream: { write(text: string): unknown }) {
  return {
    write(line: string) {
      const { time, level, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
      const fields = Object.entries(rest).map(([name, value]) => `${name}=${fieldText(value)}`);
      stream.write(`${time} ${String(level).padEnd(5)} ${[msg, ...fields].join(" ")}\n`);
      const stack = (rest.err as { stack?: string } | undefined)?.stack;
      if (level === "error" && stack !== undefined) stream.write(`${stack}\n`);
    },
  };
}

function fieldText(value: unknown): string {
  if (isSerializedError(value)) return JSON.stringify(value.message);
  if (typeof value === "string") return /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value) ?? String(value);
}

/** What pino makes of an Error. */
function isSerializedError(value: unknown): value is { message: string; stack: string } {
  return typeof value === "object" && value !== null && "stack" in value && "message" in value;
}
