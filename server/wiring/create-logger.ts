/**
 * The process's log: pino on standard error, as JSON for collectors or as text for people, and how talkative
 * it is. Nothing else of ours knows pino.
 */
import { pino } from "pino";
import { LineOutput } from "../../storage/base/line-output.js";
import { type LogFields, type Logger, silentLogger } from "../../storage/base/logger.js";
import type { Config } from "../config/config.js";
import { Verbosity } from "../request/verbosity.js";

/** The logger, and what changes how much of it is written. */
export interface Log {
  readonly logger: Logger;
  readonly verbosity: Verbosity;
  /** How many lines could not be written. */
  droppedLines(): number;
}

export function createLog({ logLevel, loggingFormat, verbosity: value }: Config): Log {
  // Standard error, so that what is printed for people stays apart from what is logged.
  const stream = new LineOutput(2, () => process.stderr);
  const formatters = { level: (label: string) => ({ level: label }) };
  const timestamp = pino.stdTimeFunctions.isoTime;
  const base = { level: logLevel, base: null, timestamp, formatters };
  const writer = pino(base, loggingFormat === "json" ? stream : textStream(stream));
  const verbosity = new Verbosity(logLevel, (level) => {
    writer.level = level;
  });
  verbosity.value = value;
  return { logger: loggerOver(writer, {}), verbosity, droppedLines: () => stream.droppedLines };
}

/** For who wants nothing logged. */
export function createSilentLog(): Log {
  return {
    logger: silentLogger,
    verbosity: new Verbosity("error", () => {}),
    droppedLines: () => 0,
  };
}

type Writer = Pick<ReturnType<typeof pino>, "debug" | "info" | "warn" | "error">;

/** pino's own children keep the level that they were born with; ours follow. */
function loggerOver(writer: Writer, own: LogFields): Logger {
  return {
    debug: (fields, message) => writer.debug({ ...own, ...fields }, message),
    info: (fields, message) => writer.info({ ...own, ...fields }, message),
    warn: (fields, message) => writer.warn({ ...own, ...fields }, message),
    error: (fields, message) => writer.error({ ...own, ...fields }, message),
    child: (fields) => loggerOver(writer, { ...own, ...fields }),
  };
}

/** pino's JSON lines as one readable line each: time, level, message, the rest. */
function textStream(stream: { write(text: string): unknown }) {
  return {
    write(line: string) {
      const { time, level, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
      const fields = Object.entries(rest).map(([name, value]) => `${name}=${fieldText(value)}`);
      const stack = (rest.err as { stack?: string } | undefined)?.stack;
      const more = level === "error" && stack !== undefined ? `${stack}\n` : "";
      stream.write(`${time} ${String(level).padEnd(5)} ${[msg, ...fields].join(" ")}\n${more}`);
    },
  };
}

function fieldText(value: unknown): string {
  if (isSerializedError(value)) return JSON.stringify(value.message);
  if (typeof value === "string") return /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value) ?? String(value);
}

/** The fields that pino writes for an Error. */
function isSerializedError(value: unknown): value is { message: string; stack: string } {
  return typeof value === "object" && value !== null && "stack" in value && "message" in value;
}
