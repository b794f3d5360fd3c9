/** The flags of logs and of what else lets people look inside, as a table; part of the one in flags.ts. */
import { type FlagDefinition, SERVE_ONLY } from "./flag-definition.js";

export const LOGGING_FLAGS = {
  verbosity: {
    name: "v",
    shorthand: "v",
    type: "integer",
    default: "0",
    min: 0,
    max: 10,
    section: "Logging",
    help: "Verbosity by number: 3 and more logs every request, 4 and more shows debug messages. Changed while the server runs by PUT /debug/flags/v.",
  },
  loggingFormat: {
    name: "logging-format",
    type: "string",
    default: "text",
    oneOf: ["text", "json"],
    section: "Logging",
    help: "text for people, json for collectors.",
  },
  logLevel: {
    name: "log-level",
    type: "string",
    default: "info",
    oneOf: ["debug", "info", "warn", "error"],
    section: "Logging",
    help: "The least important messages that are logged, where --v does not ask for more: debug, info, warn or error.",
  },
  vmodule: {
    name: "vmodule",
    type: "string",
    default: "",
    section: "Logging",
    help: "Refused unless empty: verbosity by patterns of Go source files has no meaning here; use --v.",
  },
  tracingConfigFile: {
    name: "tracing-config-file",
    type: "file",
    default: "",
    section: "Tracing",
    commands: SERVE_ONLY,
    help: "TracingConfiguration (YAML): where spans of requests are exported by OTLP, and of how many requests. Without it none are.",
  },
  slowRequestThresholdMs: {
    name: "slow-request-threshold",
    type: "duration",
    default: "500ms",
    min: 0,
    section: "Tracing",
    commands: SERVE_ONLY,
    help: "Requests that take longer, other than those that are meant to last, are logged with what they waited for. 0 = none are.",
  },
  profiling: {
    name: "profiling",
    type: "boolean",
    default: "true",
    section: "Logging",
    commands: SERVE_ONLY,
    help: "Whether /debug/flags/v changes the verbosity. There are no pages of profiles: see docs/run/operations.md for how to take one.",
  },
} as const satisfies Record<string, FlagDefinition>;
