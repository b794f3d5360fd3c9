import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  ParentBasedSampler,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { notFound } from "../api/status.js";
import { parseRequestInfo } from "../request/request-info.js";
import { createUser, MASTERS_GROUP } from "../request/user-info.js";
import { RequestTracer } from "./request-tracer.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const SAMPLED = `00-${TRACE}-${SPAN}-01`;
const ADMIN = createUser({ name: "admin", groups: [MASTERS_GROUP] });
const JANE = createUser({ name: "jane" });

function openTracer(samplingRatePerMillion: number) {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  const tracer = new RequestTracer({ tracer: provider.getTracer("test"), samplingRatePerMillion });
  const start = (sent?: string) =>
    tracer.start(sent, (traceparent) => ({
      method: "GET",
      path: "/api/v1/pods",
      auditId: "one",
      userAgent: "",
      traceparent,
      receivedAtMs: performance.now(),
    }));
  return { start, ended: () => exporter.getFinishedSpans() };
}

test("S2-TRACE-03: steps before the sender is known become part of a trace that the sender may ask for", () => {
  const { start, ended } = openTracer(0);
  const request = start(SAMPLED);
  const { trace } = request ?? {};
  const early = trace?.begin("authentication");
  const call = trace?.call("Call TokenReview webhook");
  assert.equal(call?.traceparent, undefined, "nothing is passed on before the sender is known");
  call?.end();
  early?.end();
  request?.identify(ADMIN);
  const around = trace?.begin("Get");
  const within = trace?.call("etcdserverpb.KV/Range");
  assert.match(String(within?.traceparent), new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
  within?.end(notFound({ group: "", resource: "pods" }, "web"));
  around?.end();
  const info = parseRequestInfo("GET", "/apis/apps/v1/namespaces/a/deployments/b/scale");
  request?.end({ info, code: 503 });

  const spans = ended();
  const nameOf = new Map(spans.map((span) => [span.spanContext().spanId, span.name]));
  const shown = spans.map(({ name, parentSpanContext: parent, status }) => [
    name,
    nameOf.get(parent?.spanId ?? "") ?? parent?.spanId,
    status.code === 2 ? (status.message ?? "error") : "",
  ]);
  const root = "GET /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}/scale";
  assert.deepEqual(
    new Set(shown.map((row) => row.join(" < "))),
    new Set([
      `authentication < ${root} < `,
      "Call TokenReview webhook < authentication < ",
      `Get < ${root} < `,
      "etcdserverpb.KV/Range < Get < 404 NotFound",
      `${root} < ${SPAN} < error`,
    ]),
  );
});

test("S2-TRACE-03: others begin a trace of their own by the rate, which links to what they sent", () => {
  const none = openTracer(0);
  none.start(SAMPLED)?.identify(JANE);
  assert.equal(none.start(), undefined);
  const all = openTracer(1_000_000);
  const request = all.start(SAMPLED);
  request?.identify(JANE);
  request?.end({ info: undefined, code: 200 });
  const [span] = all.ended();
  assert.notEqual(span?.spanContext().traceId, TRACE);
  assert.equal(span?.links[0]?.context.traceId, TRACE);
  assert.deepEqual(none.ended(), []);
});

test("S2-TRACE-03: a sender who may decide, and does not want it, is not sampled, and so are those that are asked", () => {
  const { start, ended } = openTracer(1_000_000);
  const unsampled = `00-${TRACE}-${SPAN}-00`;
  const request = start(unsampled);
  request?.identify(ADMIN);
  assert.equal(request?.trace.call("etcdserverpb.KV/Txn").traceparent, unsampled);
  request?.end({ info: undefined, code: 200 });
  assert.deepEqual(ended(), []);
});

test("calls beside one another are part of the step around them, also when that ends first", () => {
  const { start, ended } = openTracer(1_000_000);
  const request = start();
  const { trace } = request ?? {};
  const step = trace?.begin("step");
  const calls = [trace?.call("a"), trace?.call("b")];
  calls[1]?.end();
  step?.end();
  trace?.begin("next").end();
  calls[0]?.end();
  request?.end({ info: undefined, code: 200 });
  const parents = Object.fromEntries(
    ended().map(({ name, parentSpanContext }) => [name, parentSpanContext?.spanId]),
  );
  const stepId = ended()
    .find(({ name }) => name === "step")
    ?.spanContext().spanId;
  assert.deepEqual([parents.a, parents.b], [stepId, stepId]);
  assert.equal(parents.next, parents.step);
});
