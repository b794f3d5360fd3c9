/**
 * TracingConfiguration (`apiserver.config.k8s.io`): where spans go, and of how many requests there are any.
 * Read as strictly as kube-apiserver reads it. Beyond it an endpoint may be a URL of http or https:
 * then spans go there by OTLP over HTTP, and by OTLP over gRPC everywhere else.
 */
import { invalidValue } from "../api/field-errors.js";
import type { Naming } from "../api/naming.js";
import type { FieldError } from "../api/status.js";
import { type Members, membersOf } from "../client/members.js";
import { parseYaml } from "../codec/yaml.js";

export interface TracingConfiguration {
  readonly exporter:
    | { readonly protocol: "grpc"; readonly target: string }
    | { readonly protocol: "http"; readonly url: string };
  /** For requests whose sender made no decision; 0 = none of them is sampled. */
  readonly samplingRatePerMillion: number;
}

/** The configuration cannot be used. The message is one line. */
export class TracingConfigurationError extends Error {
  override readonly name = "TracingConfigurationError";
}

const VERSIONS = ["v1", "v1beta1", "v1alpha1"];
const MEMBERS = ["apiVersion", "kind", "endpoint", "samplingRatePerMillion"];
const ENDPOINT_DEFAULT = "localhost:4317";
const RATE_MAX = 1_000_000;
const TRACES_PATH = "/v1/traces";

/** @throws {TracingConfigurationError} */
export function parseTracingConfiguration(
  text: string,
  { groupDomain }: Naming,
): TracingConfiguration {
  const { apiVersion, kind, endpoint, samplingRatePerMillion } = decode(text);
  const group = `apiserver.config.${groupDomain}`;
  if (kind !== "TracingConfiguration" || !VERSIONS.some((v) => apiVersion === `${group}/${v}`)) {
    const known = VERSIONS.map((version) => `${group}/${version}`).join(", ");
    throw undecodable(`it is not a TracingConfiguration of ${known}`);
  }
  const target = endpoint ?? ENDPOINT_DEFAULT;
  if (typeof target !== "string") throw undecodable("endpoint is not a string");
  if (!isInt32(samplingRatePerMillion ?? 0)) {
    throw undecodable("samplingRatePerMillion is not an integer of 32 bits");
  }
  const rate = Number(samplingRatePerMillion ?? 0);
  const errors = [...checkRate(rate), ...checkEndpoint(target)];
  if (errors.length > 0) throw new TracingConfigurationError(describe(errors));
  return { exporter: exporterOf(target), samplingRatePerMillion: rate };
}

/** @throws {TracingConfigurationError} no object, or one with other members than these */
function decode(text: string): Members {
  try {
    const { value, duplicateFields } = parseYaml(text);
    const members = membersOf(value, "");
    const [twice] = duplicateFields;
    if (twice !== undefined) throw new Error(`duplicate field "${twice}"`);
    const unknown = Object.keys(members).find((name) => !MEMBERS.includes(name));
    if (unknown !== undefined) throw new Error(`unknown field ${JSON.stringify(unknown)}`);
    return members;
  } catch (error) {
    throw undecodable((error as Error).message.split("\n", 1)[0] ?? "");
  }
}

function isInt32(value: unknown): boolean {
  const number = typeof value === "bigint" ? Number(value) : value;
  return Number.isInteger(number) && Math.abs(number as number) < 2 ** 31;
}

function checkRate(rate: number): FieldError[] {
  const field = "samplingRatePerMillion";
  if (rate < 0) return [invalidValue(field, rate, "sampling rate must be positive")];
  if (rate <= RATE_MAX) return [];
  const why = "sampling rate per million must be less than or equal to one million";
  return [invalidValue(field, rate, why)];
}

function checkEndpoint(endpoint: string): FieldError[] {
  const given = endpoint.includes("//") ? endpoint : `dns://${endpoint}`;
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(given)?.[1]?.toLowerCase() ?? "";
  const isUrl = scheme === "http" || scheme === "https";
  if (isUrl ? URL.canParse(given) : scheme === "dns" || scheme === "unix") return [];
  const why = isUrl
    ? "not a URL"
    : `unsupported scheme: ${scheme}.  Options are none, dns, unix, http or https`;
  return [invalidValue("endpoint", withoutUserInfo(given), why)];
}

function exporterOf(endpoint: string): TracingConfiguration["exporter"] {
  if (/^https?:\/\//i.test(endpoint)) {
    const url = new URL(endpoint);
    if (url.pathname === "/") url.pathname = TRACES_PATH;
    return { protocol: "http", url: url.href };
  }
  // "dns://authority/host:port" asks one server for the name: the library asks the machine's.
  const target = endpoint.replace(/^dns:\/\/[^/]*\//i, "").replace(/^dns:(\/\/)?/i, "");
  return { protocol: "grpc", target };
}

function withoutUserInfo(endpoint: string): string {
  return endpoint.replace(/\/\/[^/@]*@/, "//");
}

function describe(errors: readonly FieldError[]): string {
  const texts = errors.map(({ field, message }) => `${field}: ${message}`);
  const all = texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`;
  return `failed to validate tracing configuration: ${all}`;
}

function undecodable(why: string): TracingConfigurationError {
  return new TracingConfigurationError(`unable to decode tracing configuration data: ${why}`);
}
