/**
 * Traces of the real kubectl: found by the audit id that it shows, and joined with those of a proxy before
 * the server, of an API service behind it, and of etcd.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT_CONTEXT, SpanKind, trace } from "@opentelemetry/api";
import { traceparentOf } from "../server/tracing/request-trace.js";
import { parseTraceparent } from "../server/tracing/trace-context.js";
import { openApiService } from "./harness/api-service.js";
import { eventually } from "./harness/eventually.js";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";
import { renderWaterfall } from "./harness/waterfall.js";
import { startEtcd } from "./tools/etcd.js";
import { type CollectedSpan, startOtlpCollector } from "./tools/otlp-collector.js";
import { openTracedService, type TracedService } from "./tools/traced-service.js";

test("S2-TRACE-01: what kubectl asks is found by its audit id, and one trace joins a proxy, this server, an API service and etcd", async () => {
  await using folder = await makeTempDir("tracing-kubectl");
  await using collector = await startOtlpCollector();
  await using etcd = await startEtcd({
    args: [
      "--experimental-enable-distributed-tracing",
      `--experimental-distributed-tracing-address=${collector.grpcTarget}`,
      "--experimental-distributed-tracing-instance-id=one",
    ],
  });
  const configuration = await folder.write(
    "tracing.json",
    JSON.stringify({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "TracingConfiguration",
      endpoint: collector.grpcTarget,
      samplingRatePerMillion: 1_000_000,
    }),
  );
  await using server = await startServer({
    etcdEndpoints: [etcd.endpoint],
    flags: [`--tracing-config-file=${configuration}`, ...(await frontProxyFlags(folder.path))],
  });
  await using notes = openTracedService("notes", collector);
  await using service = await openNotes(server, notes);
  await using proxies = openTracedService("proxy", collector);
  await using proxy = await openTracedProxy(server, proxies);

  // kubectl sends no trace context of its own. It shows the audit id, which the request's span has.
  await using kubectl = await Kubectl.open(server);
  const shown = await kubectl.run(["create", "configmap", "direct", "-v=8"]);
  assert.equal(shown.code, 0, shown.stderr);
  const auditId = [...shown.stderr.matchAll(/audit-id: (\S+)/gi)].at(-1)?.[1];
  assert.ok(auditId !== undefined, shown.stderr);
  const root = await eventually("its trace is collected", () =>
    collector.spans.find(({ attributes }) => attributes["audit-id"] === auditId),
  );
  assert.match(String(root.attributes["user_agent.original"]), /^kubectl/);
  const commit =
    "apiserver: Create > apiserver: commit > apiserver: etcdserverpb.KV/Txn > etcd: etcdserverpb.KV/Txn";
  const create = "apiserver: POST /api/v1/namespaces/{:namespace}/configmaps";
  await hasPath(root.traceId, `${create} > ${commit}`);

  // Through a proxy that traces, the same is one trace.
  await using proxied = await Kubectl.open(proxy);
  await proxied.ok(["create", "configmap", "proxied"]);
  const [made] = await spansOf("proxy", "POST /api/v1/namespaces/default/configmaps");
  await hasPath(made?.traceId, `proxy: ${made?.name} > ${create} > ${commit}`);
  const path = "/apis/notes.example.com/v1/namespaces/default/notes";
  await proxied.ok(["get", "--raw", path]);
  const [asked] = await spansOf("proxy", `GET ${path}`);
  const list = "apiserver: GET /apis/notes.example.com/v1/namespaces/{:namespace}/notes";
  await hasPath(
    asked?.traceId,
    `proxy: GET ${path} > ${list} > apiserver: proxy > notes: GET ${path}`,
  );
  if (process.env.KEELSON_SHOW_TRACE === "1") {
    for (const traceId of [made?.traceId, asked?.traceId]) {
      const spans = collector.spans.filter((span) => span.traceId === traceId);
      process.stdout.write(`${renderWaterfall(spans)}\n`);
    }
  }
  assert.deepEqual(collector.problems, []);
  assert.ok(service.requests > 0);

  async function spansOf(name: string, span: string): Promise<readonly CollectedSpan[]> {
    return await eventually(`${name} has exported ${span}`, () => {
      const found = collector.spans.filter(
        (one) => one.service === name && one.name.startsWith(span),
      );
      return found.length > 0 ? found : undefined;
    });
  }

  /** Waits until somebody's span is where the path says, by the ids of parents. */
  async function hasPath(traceId: string | undefined, wanted: string): Promise<void> {
    let found: readonly string[] = [];
    const isThere = () => {
      const spans = collector.spans.filter((span) => span.traceId === traceId);
      const byId = new Map(spans.map((span) => [span.spanId, span]));
      const pathOf = (span: CollectedSpan | undefined): string[] =>
        span === undefined
          ? []
          : [...pathOf(byId.get(span.parentId)), `${span.service}: ${span.name}`];
      found = spans.map((span) => pathOf(span).join(" > "));
      return found.includes(wanted) ? true : undefined;
    };
    await eventually(`the trace has ${wanted}`, isThere).catch((error: Error) => {
      throw new Error(`${error.message}; it has\n${found.join("\n")}`, { cause: error });
    });
  }
});

/** By which API services know whose word to believe. */
async function frontProxyFlags(folder: string): Promise<readonly string[]> {
  const authority = await TestAuthority.create("front-proxy-ca");
  const { cert, key } = await authority.issue({ commonName: "front-proxy-client" });
  const files = { "ca.pem": authority.certificate, "proxy.pem": cert, "proxy.key": key };
  const written = Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text));
  await Promise.all(written);
  return [
    `--requestheader-client-ca-file=${join(folder, "ca.pem")}`,
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    `--proxy-client-cert-file=${join(folder, "proxy.pem")}`,
    `--proxy-client-key-file=${join(folder, "proxy.key")}`,
  ];
}

/** An API service that makes a span of each request. */
async function openNotes(server: ServerProcess, traced: TracedService) {
  const { client } = server;
  await eventually("the server tells whom to believe", async () => {
    const path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    const { object } = await client.get(path);
    return "requestheader-client-ca-file" in ((object.data as object | undefined) ?? {});
  });
  const service = await openApiService({
    kubeconfig: server.kubeconfig,
    serverName: "notes.default.svc",
    onRequest({ method, url, headers }) {
      const from = parseTraceparent(String(headers.traceparent));
      if (from === undefined) return;
      const context = trace.setSpanContext(ROOT_CONTEXT, from);
      traced.tracer.startSpan(`${method} ${url}`, { kind: SpanKind.SERVER }, context).end();
    },
  });
  const { port } = service;
  const spec = { type: "ExternalName", externalName: "localhost", ports: [{ port }] };
  const services = "/api/v1/namespaces/default/services";
  (await client.post(services, { metadata: { name: "notes" }, spec })).expect(201);
  const published = {
    metadata: { name: "v1.notes.example.com" },
    spec: {
      group: "notes.example.com",
      version: "v1",
      service: { namespace: "default", name: "notes", port },
      caBundle: Buffer.from(service.authority).toString("base64"),
      groupPriorityMinimum: 100,
      versionPriority: 100,
    },
  };
  const apis = "/apis/apiregistration.k8s.io/v1/apiservices";
  (await client.post(apis, published)).expect(201);
  await eventually("the API service is available", async () => {
    const { status } = (await client.get(`${apis}/v1.notes.example.com`)).object as {
      status?: { conditions?: { type: string; status: string }[] };
    };
    return status?.conditions?.some((one) => one.type === "Available" && one.status === "True");
  });
  return service;
}

/** Stands before a server, as the administrator: each request is a span, whose context is passed on. */
async function openTracedProxy({ client, dataDir }: ServerProcess, { tracer }: TracedService) {
  const pass = async (request: IncomingMessage) => {
    const { method = "", url = "", headers } = request;
    const span = tracer.startSpan(`${method} ${url}`, { kind: SpanKind.CLIENT });
    const text = Buffer.concat(await request.toArray()).toString();
    const answer = await client.request(url, {
      method,
      headers: {
        accept: headers.accept ?? "",
        ...(text !== "" && { "content-type": headers["content-type"] ?? "" }),
        traceparent: traceparentOf(span),
      },
      ...(text !== "" && { body: text }),
    });
    span.end();
    return answer;
  };
  const server = createServer(async (request, response) => {
    const { status, headers, bytes } = await pass(request);
    response.writeHead(status, { "content-type": headers["content-type"] ?? "" }).end(bytes);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(dataDir, "proxied.kubeconfig");
  const cluster = { name: "c", cluster: { server: `http://127.0.0.1:${port}` } };
  const context = { name: "x", context: { cluster: "c", user: "" } };
  const config = { clusters: [cluster], contexts: [context], "current-context": "x" };
  await writeFile(kubeconfig, JSON.stringify({ apiVersion: "v1", kind: "Config", ...config }));
  return {
    kubeconfig,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
