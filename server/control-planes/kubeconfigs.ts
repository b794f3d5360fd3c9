/**
 * controlplanes/NAME/kubeconfig, of the root: a create answers with a kubeconfig for an administrator of the control
 * plane, whose token ends. The token is one of a service account of the control plane, signed with its key: it is worth
 * nothing elsewhere, and who removes the account, or its binding, ends it early.
 */
import { stringify } from "yaml";
import type { JsonObject, JsonValue } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { badRequest, methodNotAllowed, notFound } from "../api/status.js";
import { formatTime } from "../api/time.js";
import { createLocalObjects } from "../controllers/local-objects.js";
import { readBody } from "../request/read-body.js";
import type { RequestContext, RequestMiddleware } from "../request/request-state.js";
import { parseJson } from "../schema/parse-json.js";
import { administratorBinding, createMissing } from "./administrator.js";
import type { ControlPlanes, LoadedControlPlane } from "./control-planes.js";
import {
  CONTROL_PLANE_VERSION,
  CONTROL_PLANES,
  controlPlaneGroup,
  KUBECONFIG,
} from "./definition.js";

export interface KubeconfigParts {
  readonly naming: Naming;
  readonly planes: ControlPlanes;
  /** The URL of a control plane for a client that came here by this host, or "". */
  readonly serverOf: (name: string, host: string) => string;
  /** PEM: the authority by which they verify it. */
  readonly authority: () => string;
}

export interface KubeconfigWish {
  /** The account in the system namespace; a DNS label. */
  readonly user: string;
  readonly expirationSeconds: number;
}

const DEFAULTS = {
  user: "administrator",
  expirationSeconds: 24 * 3600,
} as const satisfies KubeconfigWish;
const SECONDS_MIN = 600;
const SECONDS_MAX = 366 * 24 * 3600;
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function withKubeconfigs(parts: KubeconfigParts): RequestMiddleware {
  const group = controlPlaneGroup(parts.naming);
  return async function kubeconfigs(ctx, next) {
    const { info } = ctx.state;
    const isAsked = info.group === group && info.resource === CONTROL_PLANES;
    if (!isAsked || info.subresource !== KUBECONFIG) return await next();
    if (info.verb !== "create" || info.version !== CONTROL_PLANE_VERSION) throw methodNotAllowed();
    await answer(ctx, parts);
  };
}

async function answer(ctx: RequestContext, parts: KubeconfigParts): Promise<void> {
  const { info, signal } = ctx.state;
  // A kubeconfig always gives access, so a dry run cannot make one.
  if (info.query.has("dryRun")) throw badRequest("dryRun: a kubeconfig cannot be tried");
  const wish = toWish(await readBody(ctx.req, { waiting: ctx.state }));
  // The way that the client came is one that works for it, through a balancer too.
  const server = parts.serverOf(info.name, ctx.host);
  const place = { name: info.name, server };
  const { kubeconfig, expiresAtMs } = await parts.planes.use(info.name, (plane) =>
    issueKubeconfig(parts, plane, place, wish, signal),
  );
  ctx.status = 201;
  ctx.set("Content-Type", "application/json");
  const object = {
    apiVersion: `${controlPlaneGroup(parts.naming)}/${CONTROL_PLANE_VERSION}`,
    kind: "ControlPlaneKubeconfig",
    metadata: { name: info.name },
    spec: wish,
    status: { kubeconfig, expirationTimestamp: formatTime(expiresAtMs) },
  };
  ctx.body = Buffer.from(`${JSON.stringify(object)}\n`);
}

/** @throws {StatusError} 400 */
function toWish(body: Buffer): KubeconfigWish {
  const { spec } = (body.length === 0 ? {} : parse(body)) as { spec?: JsonValue };
  const wish = spec ?? {};
  if (typeof wish !== "object" || Array.isArray(wish)) throw badRequest("spec: must be an object");
  const { user, expirationSeconds } = { ...DEFAULTS, ...wish };
  if (typeof user !== "string" || !LABEL.test(user)) {
    throw badRequest("spec.user: must be a DNS label");
  }
  const isInteger = typeof expirationSeconds === "number" && Number.isInteger(expirationSeconds);
  if (!isInteger || expirationSeconds < SECONDS_MIN || expirationSeconds > SECONDS_MAX) {
    throw badRequest(`spec.expirationSeconds: must be from ${SECONDS_MIN} to ${SECONDS_MAX}`);
  }
  return { user, expirationSeconds };
}

function parse(body: Buffer): JsonObject {
  try {
    const value = parseJson(body);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Told below.
  }
  throw badRequest("the body must be a JSON object");
}

async function issueKubeconfig(
  { naming, authority }: KubeconfigParts,
  { registry, issuer }: LoadedControlPlane,
  { name, server }: { readonly name: string; readonly server: string },
  { user, expirationSeconds }: KubeconfigWish,
  signal: AbortSignal,
): Promise<{ readonly kubeconfig: string; readonly expiresAtMs: number }> {
  const objects = createLocalObjects(registry);
  const namespace = naming.systemNamespace;
  const metadata = { namespace, name: user };
  await createMissing(objects, { apiVersion: "v1", kind: "ServiceAccount", metadata }, signal);
  const subject = { kind: "ServiceAccount", namespace, name: user };
  const binding = administratorBinding(naming, `control-plane-user-${user}`, subject);
  await createMissing(objects, binding, signal);
  await objects.refresh();
  const accounts = objects.resource("", "serviceaccounts");
  const account = objects.get(accounts, metadata);
  // Somebody in the control plane removed it a moment ago.
  if (account === undefined) throw notFound(accounts, user);
  const issued = await issuer.issueBound({
    account: { namespace, name: user, uid: account.metadata.uid ?? "" },
    binding: {},
    audiences: issuer.settings.audiences,
    lifetimeSeconds: expirationSeconds,
  });
  const cluster = {
    server,
    "certificate-authority-data": Buffer.from(authority()).toString("base64"),
  };
  const context = `${user}@${name}`;
  const kubeconfig = stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster }],
    users: [{ name: context, user: { token: issued.token } }],
    contexts: [{ name: context, context: { cluster: name, user: context } }],
    "current-context": context,
  });
  return { kubeconfig, expiresAtMs: issued.expiresAtMs };
}
