/** Traces as a collector gets them: which spans, whose, joined with those of a client, a webhook and etcd. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { ROOT_CONTEXT, SpanKind, trace } from "@opentelemetry/api";
import { openAdmissionHook } from "../server/admission/testing/admission-webhook.js";
import { traceparentOf } from "../server/tracing/request-trace.js";
import { parseTraceparent } from "../server/tracing/trace-context.js";
import { eventually } from "./harness/eventually.js";
import { HttpsClient } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { renderWaterfall } from "./harness/waterfall.js";
import { startEtcd } from "./tools/etcd.js";
import {
  type CollectedSpan,
  type OtlpCollector,
  startOtlpCollector,
} from "./tools/otlp-collector.js";
import { openTracedService } from "./tools/traced-service.js";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

function configuration(endpoint: string, rate: number, version = "v1"): string {
  return JSON.stringify({
    apiVersion: `apiserver.config.k8s.io/${version}`,
    kind: "TracingConfiguration",
    endpoint,
    samplingRatePerMillion: rate,
  });
}

async function traceOf(
  collector: OtlpCollector,
  traceId: string,
  isWhole: (spans: CollectedSpan[]) => boolean,
): Promise<CollectedSpan[]> {
  return await eventually("the trace is collected", () => {
    const spans = collector.spans.filter((span) => span.traceId === traceId);
    return isWhole(spans) ? spans : undefined;
  });
}

describe("with a collector", () => {
  const opened: AsyncDisposable[] = [];
  let collector: OtlpCollector;
  /** Without a rate of its own, over gRPC; and one that samples everything, over HTTP. */
  let asked: ServerProcess;
  let always: ServerProcess;

  before(async () => {
    const folder = await makeTempDir("tracing");
    opened.push(folder);
    collector = await startOtlpCollector();
    opened.push(collector);
    const etcd = await startEtcd({
      args: [
        "--experimental-enable-distributed-tracing",
        `--experimental-distributed-tracing-address=${collector.grpcTarget}`,
        "--experimental-distributed-tracing-instance-id=one",
      ],
      // What it has of a trace goes out after 5 s otherwise.
      env: { OTEL_BSP_SCHEDULE_DELAY: "200" },
    });
    opened.push(etcd);
    const tokens = await folder.write(
      "tokens.csv",
      'jane-token,jane,1\nwatcher-token,watcher,2,"system:monitoring"\n',
    );
    const start = async (name: string, text: string, transport: string) => {
      const file = await folder.write(name, text);
      const server = await startServer({
        etcdEndpoints: [etcd.endpoint],
        flags: [
          `--tracing-config-file=${file}`,
          `--token-auth-file=${tokens}`,
          `--etcd-transport=${transport}`,
          "--slow-request-threshold=300ms",
          "--v=3",
        ],
      });
      opened.push(server);
      return server;
    };
    [asked, always] = await Promise.all([
      start("asked", configuration(collector.grpcTarget, 0, "v1beta1"), "lean"),
      start("always", configuration(collector.httpUrl, 1_000_000, "v1alpha1"), "grpc"),
    ]);
  });
  after(async () => {
    for (const one of opened.reverse()) await one[Symbol.asyncDispose]();
  });

  for (const transport of ["lean", "grpc"]) {
    test(`S2-TRACE-01, S2-TRACE-02, S2-TRACE-07: one trace joins a client, this server, a webhook and etcd (${transport})`, async () => {
      const server = transport === "lean" ? asked : always;
      await using webhooks = openTracedService("webhook", collector);
      await using clients = openTracedService("client", collector);
      await using hook = await openAdmissionHook(() => {
        const from = parseTraceparent(String(hook.stub.calls.at(-1)?.headers.traceparent));
        if (from !== undefined) {
          const context = trace.setSpanContext(ROOT_CONTEXT, from);
          webhooks.tracer.startSpan("judge", { kind: SpanKind.SERVER }, context).end();
        }
        return { allowed: true };
      });
      const webhook = {
        name: "judge.example.com",
        clientConfig: hook.clientConfig(),
        rules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["CREATE"],
            resources: ["configmaps"],
          },
        ],
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
      };
      const configured = { metadata: { name: transport }, webhooks: [webhook] };
      (await server.client.post(HOOKS, configured)).expect(201);
      // The server has just begun: what it still makes of its own is out of the way.
      (await server.client.post(CONFIG_MAPS, { metadata: { name: `first-${transport}` } })).expect(
        201,
      );

      const creating = clients.tracer.startSpan("kubectl create", { kind: SpanKind.CLIENT });
      const { traceId, spanId } = creating.spanContext();
      const answer = await server.client.request(CONFIG_MAPS, {
        method: "POST",
        headers: { traceparent: traceparentOf(creating) },
        body: { metadata: { name: transport } },
      });
      creating.end();
      answer.expect(201);
      (await server.client.delete(`${HOOKS}/${transport}`)).expect(200);

      const spans = await traceOf(
        collector,
        traceId,
        (found) =>
          ["client", "webhook", "etcd"].every((name) => found.some((s) => s.service === name)) &&
          found.some((s) => s.service === "apiserver" && s.parentId === spanId),
      );
      if (process.env.KEELSON_SHOW_TRACE === "1")
        process.stdout.write(`${renderWaterfall(spans)}\n`);
      const byId = new Map(spans.map((span) => [span.spanId, span]));
      const path = (span: CollectedSpan | undefined): string[] =>
        span === undefined
          ? []
          : [...path(byId.get(span.parentId)), `${span.service}: ${span.name}`];
      const found = spans.map((span) => path(span).join(" > "));
      const root = "apiserver: POST /api/v1/namespaces/{:namespace}/configmaps";
      const chain = `client: kubectl create > ${root}`;
      for (const wanted of [
        `${chain} > apiserver: authentication`,
        `${chain} > apiserver: authorization`,
        `${chain} > apiserver: Create > apiserver: ValidatingAdmissionWebhook validate > apiserver: Call validating webhook > webhook: judge`,
        `${chain} > apiserver: Create > apiserver: commit > apiserver: etcdserverpb.KV/Txn > etcd: etcdserverpb.KV/Txn`,
      ]) {
        assert.ok(found.includes(wanted), `${wanted} is not among\n${found.join("\n")}`);
      }
      const own = spans.find(({ parentId }) => parentId === spanId);
      assert.equal(own?.attributes["audit-id"], answer.headers["audit-id"]);
      assert.equal(own?.attributes["http.response.status_code"], "201");
      assert.deepEqual(collector.problems, []);

      // The next scrape names it as an example of how long that took, where examples can be told.
      const scrape = async (accept: string) =>
        (await server.client.get("/metrics", accept)).expect(200).text;
      const lines = (await scrape("application/openmetrics-text")).split("\n");
      const example = `# {trace_id="${traceId}"}`;
      const [took] = lines.filter(
        (line) => line.includes(example) && /resource="configmaps"/.test(line),
      );
      assert.match(took ?? "", /^apiserver_request_duration_seconds_bucket\{verb="POST",/);
      const ofEtcd = /^etcd_request_duration_seconds_bucket\{.*# \{trace_id="[0-9a-f]{32}"\}/;
      assert.ok(lines.some((line) => ofEtcd.test(line)));
      assert.doesNotMatch(await scrape("text/plain"), /trace_id/);

      // A get asks etcd nothing but its revision, and that is part of the trace as well.
      const reading = clients.tracer.startSpan("kubectl get", { kind: SpanKind.CLIENT });
      const get = await server.client.request(`${CONFIG_MAPS}/${transport}`, {
        headers: { traceparent: traceparentOf(reading) },
      });
      reading.end();
      get.expect(200);
      await traceOf(
        collector,
        reading.spanContext().traceId,
        (read) =>
          read.some(
            ({ service, name }) => service === "etcd" && name === "etcdserverpb.KV/Range",
          ) && read.some(({ name }) => name === "freshness"),
      );
    });
  }

  test("S2-TRACE-03: privileged senders decide whether they are sampled, others by the rate alone", async () => {
    const ask = async (server: ServerProcess, token: string, isSampled: boolean) => {
      const client = new HttpsClient(server.url, { ca: server.credentials.ca });
      const traceId = randomBytes(16).toString("hex");
      const headers = {
        authorization: `Bearer ${token}`,
        traceparent: `00-${traceId}-${randomBytes(8).toString("hex")}-0${isSampled ? 1 : 0}`,
      };
      const answer = await client.request("/api/v1/namespaces/default/pods", { headers });
      client.close();
      return { traceId, auditId: answer.headers["audit-id"] };
    };
    const never = [await ask(asked, "jane-token", true), await ask(always, "watcher-token", false)];
    const trusted = await ask(asked, "watcher-token", true);
    const own = [await ask(always, "jane-token", true), await ask(always, "jane-token", false)];
    const rootsOf = (auditId: unknown) =>
      collector.spans.filter(({ attributes }) => attributes["audit-id"] === auditId);
    const rootOf = (auditId: unknown) =>
      eventually("the trace is collected", () => rootsOf(auditId)[0]);
    assert.equal((await rootOf(trusted.auditId)).traceId, trusted.traceId);
    for (const { auditId, traceId } of own) {
      const root = await rootOf(auditId);
      assert.notEqual(root.traceId, traceId);
      assert.equal(root.links[0]?.split("-")[0], traceId, "it links to what the client sent");
    }
    // Later ones have arrived.
    for (const { auditId } of never) assert.deepEqual(rootsOf(auditId), []);
  });

  test("S2-TRACE-08: a slow request is logged with what it waited for, by its audit id", async () => {
    await using hook = await openAdmissionHook();
    const { answer: answerAtOnce } = hook.stub;
    hook.stub.answer = async (call) => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      return await answerAtOnce(call);
    };
    const webhook = {
      name: "slow.example.com",
      clientConfig: hook.clientConfig(),
      rules: [
        { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["secrets"] },
      ],
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
    };
    (await asked.client.post(HOOKS, { metadata: { name: "slow" }, webhooks: [webhook] })).expect(
      201,
    );
    const answer = await asked.client.post("/api/v1/namespaces/default/secrets", {
      metadata: { name: "slow" },
    });
    answer.expect(201);
    (await asked.client.delete(`${HOOKS}/slow`)).expect(200);
    const line = await eventually("the slow request is logged", () =>
      asked.logs
        .split("\n")
        .find(
          (one) => one.includes("slow request") && one.includes(String(answer.headers["audit-id"])),
        ),
    );
    assert.match(line, /Call validating webhook: took \d{3,5}\.\dms/);
    assert.match(line, /verb=CREATE URI=\/api\/v1\/namespaces\/default\/secrets /);
  });
});

test("S2-TRACE-05: a collector that fails, is silent or is gone delays nobody, and what is lost is counted", async () => {
  await using folder = await makeTempDir("tracing");
  const collector = await startOtlpCollector();
  const file = await folder.write("tracing.json", configuration(collector.grpcTarget, 1_000_000));
  await using server = await startServer({ flags: [`--tracing-config-file=${file}`] });
  const read = async (name: string) => {
    const { text } = (await server.client.get("/metrics")).expect(200);
    return Number(new RegExp(`^${name.replace(/[{}]/g, "\\$&")} (\\d+)`, "m").exec(text)?.[1] ?? 0);
  };
  const dropped = 'apiserver_tracing_spans_dropped_total{reason="failed"}';
  collector.behaviour = "fail";
  await server.client.get(CONFIG_MAPS);
  await eventually("the spans are counted as lost", async () =>
    (await read(dropped)) > 0 ? true : undefined,
  );
  collector.behaviour = "silent";
  for (let i = 0; i < 20; i++) (await server.client.get(CONFIG_MAPS)).expect(200);
  await server.stop();
  await collector[Symbol.asyncDispose]();
  await using later = await startServer({ flags: [`--tracing-config-file=${file}`] });
  for (let i = 0; i < 20; i++) (await later.client.get(CONFIG_MAPS)).expect(200);
  await later.stop();
});
