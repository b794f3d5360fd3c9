/**
 * exec, attach and portforward: connects the client to the agent of the pod's node.
 *
 *   the client asks for                the agent
 *   SPDY/3.1                           gets the same; bytes go through
 *   WebSocket, v5 channels             takes WebSockets itself: the same; else translate.ts, to SPDY
 *   WebSocket, SPDY/3.1+portforward    takes WebSockets itself: the same; else tunnel.ts, its inside
 *   WebSocket of other protocols       gets the same: every agent takes those
 */
import { badRequest } from "../api/status.js";
import { forwardedHeaders } from "../client/forwarded-headers.js";
import { openUpgrade, passOutcome, type UpgradeRequest } from "../client/pass-upgrade.js";
import type { EndAnswer } from "../request/lasting-answers.js";
import type { RequestContext } from "../request/request-state.js";
import { type Upgrade, upgradeTo } from "../request/upgrade.js";
import { protocolsOffered, refuseForeignOrigin } from "../response/web-socket-sink.js";
import { unreachedAgent } from "./agent-failures.js";
import type { ConnectServices } from "./connect-services.js";
import type { Kubelet } from "./kubelets.js";
import {
  type PortForwardOptions,
  portForwardParameters,
  type StreamOptions,
  streamParameters,
} from "./options.js";
import { containerOf, type PodFields, podNamed } from "./targets.js";
import { translate } from "./translate.js";
import { tunnel, tunneledProtocols } from "./tunnel.js";

/** The feature that agents with WebSocket support declare. */
const WEB_SOCKETS = "ExtendWebSocketsToKubelet";

/** May occur repeatedly; agents parse the headers one by one. */
const PROTOCOL_VERSIONS = "x-stream-protocol-version";

type AskedUpgrade = Upgrade & { readonly protocol: string };

/** exec and attach. @returns how it ends, where the client can be told why @throws {StatusError} */
export async function connectToProcess(
  ctx: RequestContext,
  options: StreamOptions,
  services: ConnectServices,
): Promise<EndAnswer | undefined> {
  const { namespace, name, subresource } = ctx.state.info;
  const pod = podNamed(services.view, namespace, name);
  const container = containerOf(pod, options.container ?? "");
  const kubelet = kubeletOf(pod, services);
  const path = `/${subresource}/${namespace}/${name}/${container}?${streamParameters(options)}`;
  const upgrade = askedUpgrade(ctx);
  const { translates } = services.features;
  const offered = offeredBy(upgrade);
  const isV5 = offered.includes(`v5.channel.${services.naming.groupDomain}`);
  if (!translates || !isV5 || goesThrough(kubelet, services, subresource)) {
    await passThrough(ctx, upgrade, kubelet, path);
    return undefined;
  }
  return translate(ctx, upgrade, options, {
    naming: services.naming,
    asked: upgradeRequest(ctx, kubelet, path, { method: "POST", protocol: "SPDY/3.1" }),
    onEnd: (code) => services.counts.translated(code),
  });
}

/** portforward. @throws {StatusError} */
export async function connectToPorts(
  ctx: RequestContext,
  options: PortForwardOptions,
  services: ConnectServices,
): Promise<void> {
  const { namespace, name, subresource } = ctx.state.info;
  const kubelet = kubeletOf(podNamed(services.view, namespace, name), services);
  const parameters = portForwardParameters(options);
  const path = `/portForward/${namespace}/${name}${parameters === "" ? "" : `?${parameters}`}`;
  const upgrade = askedUpgrade(ctx);
  const { groupDomain } = services.naming;
  const inside = tunneledProtocols(offeredBy(upgrade), groupDomain);
  if (!services.features.tunnels || inside.length === 0) {
    return await passThrough(ctx, upgrade, kubelet, path);
  }
  if (goesThrough(kubelet, services, subresource)) {
    return await passThrough(ctx, upgrade, kubelet, path);
  }
  const asked = upgradeRequest(ctx, kubelet, path, { method: "POST", protocol: "SPDY/3.1" });
  const headers = [...asked.headers, ...inside.flatMap((one) => [PROTOCOL_VERSIONS, one])];
  try {
    await tunnel(ctx, upgrade, { ...asked, headers });
    services.counts.tunneled(ctx.res.statusCode);
  } catch (error) {
    services.counts.tunneled(500);
    throw unreachedAgent(error, ctx.state.signal, "error dialing backend");
  }
}

/** @throws {StatusError} 400 if the pod has no node yet */
function kubeletOf({ metadata, spec }: PodFields, { kubelets }: ConnectServices): Kubelet {
  const node = spec?.nodeName ?? "";
  if (node === "") throw badRequest(`pod ${metadata.name} does not have a host assigned`);
  return kubelets.of(node);
}

/** @throws {StatusError} 400; 403 for a page of another origin */
function askedUpgrade(ctx: RequestContext): AskedUpgrade {
  const upgrade = upgradeTo(ctx.req);
  if (upgrade === undefined) throw badRequest("Upgrade request required");
  if (isWebSocket(upgrade)) {
    refuseForeignOrigin(ctx);
  }
  return upgrade;
}

/** The protocols of a WebSocket; others offer none. */
function offeredBy(upgrade: AskedUpgrade): readonly string[] {
  return isWebSocket(upgrade) ? protocolsOffered({ req: upgrade.request }) : [];
}

function isWebSocket({ protocol }: AskedUpgrade): boolean {
  return protocol.toLowerCase() === "websocket";
}

/** Whether the client's WebSocket is passed to the agent. */
function goesThrough(
  { features }: Kubelet,
  { features: { extendsWebSockets }, counts }: ConnectServices,
  subresource: string,
): boolean {
  const does = extendsWebSockets && features.includes(WEB_SOCKETS);
  counts.webSocket(subresource, does ? "proxied_to_kubelet" : "translated_at_apiserver");
  return does;
}

async function passThrough(
  ctx: RequestContext,
  upgrade: AskedUpgrade,
  kubelet: Kubelet,
  path: string,
): Promise<void> {
  const { method } = ctx;
  const { protocol } = upgrade;
  const asked = upgradeRequest(ctx, kubelet, path, { method, protocol });
  try {
    passOutcome(ctx, upgrade, await openUpgrade(asked));
  } catch (error) {
    throw unreachedAgent(error, ctx.state.signal, "error dialing backend");
  }
}

/** @param as the protocol of the agent's request; WebSocket headers are dropped for others */
function upgradeRequest(
  { req, state }: RequestContext,
  kubelet: Kubelet,
  path: string,
  as: Pick<UpgradeRequest, "method" | "protocol">,
): UpgradeRequest {
  const isAsSent = as.protocol === req.headers.upgrade;
  const distinct = "headersDistinct" in req ? req.headersDistinct[PROTOCOL_VERSIONS] : undefined;
  const kept = Object.entries(req.headers).filter(
    ([name]) => isAsSent || !(name.startsWith("sec-websocket-") || name === PROTOCOL_VERSIONS),
  );
  const headers = forwardedHeaders({
    headers: {
      ...Object.fromEntries(kept),
      ...(isAsSent && distinct !== undefined && { [PROTOCOL_VERSIONS]: distinct }),
    },
    auditId: state.auditId,
    remoteAddress: req.socket?.remoteAddress ?? "",
  });
  return { pool: kubelet.pool(), path, headers, signal: state.signal, ...as };
}
