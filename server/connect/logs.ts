/** pods/log: streams a container's log from its node's agent. */
import type { Readable } from "node:stream";
import { invalid } from "../api/status.js";
import { sendAnswer } from "../client/pass-request.js";
import type { RequestContext } from "../request/request-state.js";
import { upgradeOf } from "../request/upgrade.js";
import type { ResponseSink } from "../response/sink.js";
import { openWebSocketSink, webSocketOptions } from "../response/web-socket-sink.js";
import { answeredFailure, unreachedAgent } from "./agent-failures.js";
import type { ConnectServices } from "./connect-services.js";
import { type LogOptions, logOptions, logParameters, problemsOfLogOptions } from "./log-options.js";
import { containerOf, nodeNamed, podNamed } from "./targets.js";

/** The limit of an agent's error text. */
const REFUSAL_BYTES_MAX = 10 * 1024;

/** @throws {StatusError} */
export async function sendLog(ctx: RequestContext, services: ConnectServices): Promise<void> {
  const { info, signal } = ctx.state;
  const { splitsLogs } = services.features;
  const options = logOptions(info.query, splitsLogs);
  const problems = problemsOfLogOptions(options);
  if (problems.length > 0) throw invalid({ group: "", kind: "PodLogOptions" }, info.name, problems);
  const pod = podNamed(services.view, info.namespace, info.name);
  const container = containerOf(pod, options.container);
  const nodeName = pod.spec?.nodeName ?? "";
  if (nodeName === "") {
    // Nothing has run yet, so there is no log.
    ctx.status = 204;
    return;
  }
  const node = nodeNamed(services.view, nodeName);
  const simulated = services.simulated?.logOf(pod, node, container);
  if (simulated !== undefined) {
    ctx.status = 200;
    ctx.set("Content-Type", "text/plain");
    ctx.body = options.tailLines === 0 ? "" : simulated;
    return;
  }
  const kubelet = services.kubelets.of(nodeName);
  const path = `/containerLogs/${info.namespace}/${info.name}/${container}${queryOf(options, splitsLogs)}`;
  const where = `Get "https://${kubelet.host}:${kubelet.port}${path}"`;
  try {
    const pool = kubelet.pool({ skipsVerification: options.skipsVerification });
    const answer = await pool.request({ method: "GET", path, signal });
    const { statusCode, body } = answer;
    if (statusCode < 200 || statusCode > 206) {
      const text = await readSome(body);
      throw answeredFailure(statusCode, text, info.name);
    }
    const upgrade = upgradeOf(ctx.req);
    if (upgrade === undefined) {
      sendAnswer(ctx, { status: 200, headers: [["Content-Type", "text/plain"]], body });
      return;
    }
    // For browsers, whose scripts cannot stream a body.
    const sink = openWebSocketSink(ctx, upgrade, webSocketOptions(services.naming));
    void sendMessages(body, sink);
  } catch (error) {
    throw unreachedAgent(error, signal, where);
  }
}

function queryOf(options: LogOptions, splitsLogs: boolean): string {
  const parameters = logParameters(options, splitsLogs);
  return parameters === "" ? "" : `?${parameters}`;
}

/** One message per chunk; the body is read at the receiver's pace. */
async function sendMessages(body: Readable, sink: ResponseSink): Promise<void> {
  sink.onClose(() => body.destroy());
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (sink.write(chunk) || sink.isClosed) continue;
      await new Promise<void>((resolve) => {
        sink.onDrain(resolve);
        sink.onClose(resolve);
      });
    }
    sink.end();
  } catch {
    sink.destroy();
  }
}

/** The beginning of a body; does not wait for the rest. */
async function readSome(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= REFUSAL_BYTES_MAX) break;
  }
  return Buffer.concat(chunks).subarray(0, REFUSAL_BYTES_MAX).toString("utf8");
}
