/**
 * Connecting to nodes, pods and services: requests for a process instead of an object.
 *
 *   GET  .../pods/web/log            logs.ts      the agent of the pod's node is asked, its answer streams
 *   POST .../pods/web/exec           streams.ts   the agent is asked for another protocol, as the client did
 *   GET  .../pods/web/attach                        SPDY, WebSocket       bytes go through as they are
 *   GET  .../pods/web/portforward                   WebSocket, SPDY       translate.ts, tunnel.ts
 *   ANY  .../services/web/proxy/x    proxies.ts   the request goes on to a pod, or to the agent
 *
 * Requests arrive authorized. All but logs pass admission (CONNECT) with their options as the object; the
 * current view decides the target. server/client makes the connections.
 */
import type { AdmissionAttributes } from "../admission/admission.js";
import type { ApiObject } from "../api/meta.js";
import { formatGroupVersion } from "../api/names.js";
import { badRequest } from "../api/status.js";
import { remarksOf } from "../endpoints/writes/write-options.js";
import type { ConnectResource } from "../kinds/served-resource.js";
import type { EndAnswer } from "../request/lasting-answers.js";
import { booleanParameter } from "../request/query.js";
import { reachNow } from "../request/reach-now.js";
import type { RequestContext } from "../request/request-state.js";
import type { ConnectServices } from "./connect-services.js";
import { sendLog } from "./logs.js";
import { portForwardOptions, type StreamOptions, streamOptions } from "./options.js";
import { proxiedPath, proxyToNode, proxyToPod, proxyToService } from "./proxies.js";
import { connectToPorts, connectToProcess } from "./streams.js";

/** @throws {StatusError} and the errors that end the request */
export async function handleConnect(
  ctx: RequestContext,
  resource: ConnectResource,
  services: ConnectServices,
): Promise<void> {
  const { state } = ctx;
  const { query } = state.info;
  if (!state.isFresh) await reachNow(services.freshness, state);
  const isLog = resource.connector === "/pods/log";
  if (!isLog && query.has("dryRun")) throw badRequest("dryRun is not supported");
  if (isLog) await sendLog(ctx, services);
  const end = isLog ? undefined : await connect(ctx, resource, services);
  const lasts = isLog ? booleanParameter(query, "follow") : ctx.res.statusCode === 101;
  if (lasts) services.lasting.add(ctx, end);
}

/** @returns how a connection ends that can be told why */

async function connect(
  ctx: RequestContext,
  resource: ConnectResource,
  services: ConnectServices,
): Promise<EndAnswer | undefined> {
  const { state } = ctx;
  const { query, subresource } = state.info;
  const admitted = <Options extends object>(options: Options) =>
    admit(ctx, resource, options, services);
  switch (resource.connector) {
    case "/pods/exec":
    case "/pods/attach": {
      const isExec = subresource === "exec";
      // Checked first: for a WebSocket the request's own verb only reads.
      await services.authorizeCreate?.(ctx);
      const options: StreamOptions = await admitted(streamOptions(query, isExec));
      return await connectToProcess(ctx, options, services);
    }
    case "/pods/portforward": {
      await services.authorizeCreate?.(ctx);
      await connectToPorts(ctx, await admitted(portForwardOptions(query)), services);
      return undefined;
    }
    case "/pods/proxy":
      await proxyToPod(ctx, await admitted(proxiedPath(state.info)), services);
      return undefined;
    case "/services/proxy":
      await proxyToService(ctx, await admitted(proxiedPath(state.info)), services);
      return undefined;
    default:
      await proxyToNode(ctx, await admitted(proxiedPath(state.info)), services);
      return undefined;
  }
}

/** @returns the options after admission. @throws {StatusError} */
async function admit<Options extends object>(
  ctx: RequestContext,
  resource: ConnectResource,
  options: Options,
  { admission }: ConnectServices,
): Promise<Options> {
  const { state } = ctx;
  const { info, user } = state;
  if (admission?.handles("CONNECT", resource, info.subresource) !== true) return options;
  const { kind, group, version } = resource;
  const apiVersion = formatGroupVersion({ group, version });
  const attributes: AdmissionAttributes & { object: ApiObject } = {
    operation: "CONNECT",
    resource,
    served: resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    object: { kind, apiVersion, metadata: {}, ...options },
    oldObject: undefined,
    options: { isDryRun: false },
    user,
    warn: (text) => state.addWarning(text),
    ...remarksOf(ctx),
  };
  await admission.mutate(attributes, state);
  await admission.validate(attributes, state);
  // Plugins' patches go through the codec, so the object still has the resource's type.
  return attributes.object as unknown as Options;
}
