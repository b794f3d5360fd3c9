/**
 * Publishes how API servers behind us authenticate our clients: the ConfigMap
 * `extension-apiserver-authentication` in the system namespace has the authority of client certificates
 * and the rules of front proxies, as which we call them.
 *
 * Each replica publishes its own configuration. Replicas may differ, at least during a change, so existing
 * values are kept beside ours; expired authorities are removed.
 */
import { X509Certificate } from "node:crypto";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import type { FrontProxyOptions } from "../authn/front-proxy.js";
import { splitBundle } from "../client/authorities.js";
import { untilDone } from "./lost-race.js";
import { type LoopParts, runSyncLoop } from "./sync-loop.js";

const NAME = "extension-apiserver-authentication";
/** Authorities expire without an event. */
const INTERVAL_MS = 60_000;

export interface AuthenticationTrust {
  /** PEM; "" = client certificates are not accepted. */
  readonly clientAuthorities: string;
  readonly frontProxy: FrontProxyOptions | undefined;
}

export interface AuthenticationTrustOptions extends LoopParts {
  readonly naming: Naming;
  /** The current value; files are reloaded. */
  readonly trust: () => AuthenticationTrust;
}

type Data = Readonly<Record<string, string>>;

/** Once, before a replica is ready. @throws {StatusError} */
export async function ensureAuthenticationTrust(
  options: AuthenticationTrustOptions,
  signal: AbortSignal,
): Promise<void> {
  await untilDone(options.objects, () => publish(options, signal), signal);
}

/** Publishes until the signal aborts. Runs in every replica. */
export async function runAuthenticationTrust(
  options: AuthenticationTrustOptions,
  signal: AbortSignal,
): Promise<void> {
  const { naming, trust: _trust, ...parts } = options;
  const configMaps = parts.objects.resource("", "configmaps");
  const place = { namespace: naming.systemNamespace, name: NAME };
  const watches = [
    {
      resource: configMaps,
      concerns: ({ namespace, name }: { namespace: string; name: string }) =>
        name === place.name && namespace === place.namespace,
    },
  ];
  const sync = async (): Promise<undefined> => {
    await publish(options, signal);
  };
  await runSyncLoop(
    { ...parts, name: "authentication-trust", watches, intervalMs: INTERVAL_MS, sync },
    signal,
  );
}

async function publish(
  { objects, clock, naming, trust }: AuthenticationTrustOptions,
  signal: AbortSignal,
): Promise<void> {
  const wanted = trust();
  if (wanted.clientAuthorities === "" && wanted.frontProxy === undefined) return;
  const configMaps = objects.resource("", "configmaps");
  const place = { namespace: naming.systemNamespace, name: NAME };
  if (objects.metadata(configMaps, place) === "unreadable") return;
  const current = objects.get(configMaps, place);
  const data = { ...dataOf(current), ...merge(dataOf(current), wanted, clock.now()) };
  if (current === undefined) {
    const made: ApiObject = { kind: "ConfigMap", apiVersion: "v1", metadata: place, data };
    await objects.create(configMaps, made, signal);
  } else if (!isSame(data, dataOf(current))) {
    await objects.update(configMaps, { ...current, data }, "", signal);
  }
}

function merge(
  current: Data,
  { clientAuthorities, frontProxy }: AuthenticationTrust,
  nowMs: number,
): Data {
  const authorities = (key: string, ours: string) => {
    const known = [...splitBundle(current[key] ?? ""), ...splitBundle(ours)];
    const kept = [...new Set(known.map(trimmed))].filter((pem) => isUsable(pem, nowMs));
    return kept.length === 0 ? {} : { [key]: `${kept.join("\n")}\n` };
  };
  const list = (key: string, ours: readonly string[]) => ({
    [key]: JSON.stringify([...new Set([...parseList(current[key]), ...ours])]),
  });
  return {
    ...authorities("client-ca-file", clientAuthorities),
    ...(frontProxy !== undefined && {
      ...authorities("requestheader-client-ca-file", frontProxy.authorities),
      ...list("requestheader-allowed-names", frontProxy.allowedNames),
      ...list("requestheader-username-headers", frontProxy.headers.username),
      ...list("requestheader-uid-headers", frontProxy.headers.uid),
      ...list("requestheader-group-headers", frontProxy.headers.group),
      ...list("requestheader-extra-headers-prefix", frontProxy.headers.extraPrefix),
    }),
  };
}

function dataOf(configMap: ApiObject | undefined): Data {
  return (configMap?.data ?? {}) as Data;
}

function isSame(a: Data, b: Data): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

/** Someone else may have written any text there. */
function parseList(text: string | undefined): string[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

function isUsable(pem: string, nowMs: number): boolean {
  try {
    return Date.parse(new X509Certificate(pem).validTo) > nowMs;
  } catch {
    return false;
  }
}

/** The same certificate may have other line ends. */
function trimmed(pem: string): string {
  return pem
    .split(/\r?\n/)
    .map((line) => line.trim())
    .join("\n");
}
