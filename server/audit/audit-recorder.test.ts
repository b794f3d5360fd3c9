import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { invalid } from "../api/status.js";
import { AuditCapture } from "../request/audit-capture.js";
import { parseRequestInfo } from "../request/request-info.js";
import { createUser } from "../request/user-info.js";
import { AuditBatch } from "./audit-batch.js";
import type { AuditedRequest, AuditFormat } from "./audit-event.js";
import { AuditRecorder } from "./audit-recorder.js";
import { parseAuditPolicy } from "./policy.js";

const naming = createNaming(DEFAULT_VENDOR);
const MAPS = "/api/v1/namespaces/shop/configmaps";
const jane = createUser({ name: "jane" });

/** Backends with these bounds on a record. */
function openRecorder(rules: string, ...bounds: readonly number[]) {
  const policy = parseAuditPolicy(
    `apiVersion: audit.${naming.groupDomain}/v1\nkind: Policy\nrules: ${rules}`,
    naming,
  );
  const levels: string[] = [];
  const opened = bounds.map((eventBytesMax) => {
    const lines: string[] = [];
    const outcomes: string[] = [];
    const batch = new AuditBatch({
      backend: {
        name: "test",
        send: async (sent) => void lines.push(...sent),
        async [Symbol.asyncDispose]() {},
      },
      settings: {
        mode: "blocking",
        bufferSize: 100,
        batchSizeMax: 10,
        batchBytesMax: 0,
        waitMsMax: 0,
        throttleQps: 0,
        throttleBurst: 0,
      },
      clock: systemClock,
      onOutcome: (outcome) => void outcomes.push(outcome),
      onFailure: (error) => assert.fail(String(error)),
    });
    return { batch, format: "json" as AuditFormat, eventBytesMax, lines, outcomes };
  });
  const recorder = new AuditRecorder({
    naming,
    policy,
    outlets: opened,
    onRequest: (level) => void levels.push(level),
    onEvent() {},
    onRejected() {},
  });
  return { recorder, opened, levels };
}

function audited(method: string, path: string, more: Partial<AuditedRequest> = {}): AuditedRequest {
  return {
    auditId: "1",
    info: parseRequestInfo(method, path),
    createdName: "",
    sent: undefined,
    uri: path,
    method,
    user: jane,
    impersonated: undefined,
    impersonationConstraint: "",
    remoteAddress: "10.0.0.1",
    forwardedFor: "",
    realIp: "",
    userAgent: "",
    code: 200,
    outcome: undefined,
    reason: "",
    isAllowed: true,
    deprecation: undefined,
    annotations: undefined,
    receivedAtMs: 0,
    stageAtMs: 1,
    ...more,
  };
}

test("S2-REQ-09: a record that is too large loses its objects and says so, for the backend alone whose bound it breaks", async () => {
  const { recorder, opened } = openRecorder("[{level: RequestResponse}]", 0, 1_000, 100);
  const request = audited("POST", MAPS, { annotations: new Map([["a", "b"]]) });
  const rule = recorder.ruleFor(jane, request.info);
  assert.ok(rule !== undefined);
  const capture = new AuditCapture({ request: true, response: true });
  const text = JSON.stringify({ data: { large: "x".repeat(2_000) } });
  capture.takeRequest(() => text);
  capture.takeResponse(() => text);

  const isRecorded = await recorder.record(rule, "ResponseComplete", request, capture);

  const [whole, cut, none] = opened.map(({ lines }) =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>),
  );
  assert.deepEqual(whole?.[0]?.requestObject, JSON.parse(text));
  assert.equal(whole?.[0]?.responseObject === undefined, false);
  const truncated = `audit.${naming.groupDomain}/truncated`;
  assert.ok(!Object.hasOwn(whole?.[0]?.annotations ?? {}, truncated));
  const { requestObject, responseObject, annotations } = cut?.[0] ?? {};
  assert.deepEqual([requestObject, responseObject], [undefined, undefined]);
  assert.deepEqual(annotations, { ...(whole?.[0]?.annotations as object), [truncated]: "true" });
  // Without its objects it is still too large for the last one: it is dropped, and counted.
  assert.deepEqual([none, opened[2]?.outcomes], [[], ["large"]]);
  assert.equal(isRecorded, true, "nobody waits for what is dropped by its size");
});

test("A22: the status of a refusal has its details, and from the level that asks for them its causes", async () => {
  const causes = [{ reason: "FieldValueInvalid", message: "sent: x", field: "data" }] as const;
  const { status: outcome } = invalid({ group: "", kind: "ConfigMap" }, "m", [...causes]);
  const request = audited("POST", MAPS, { code: 422, outcome });
  const told = async (level: string) => {
    const { recorder, opened } = openRecorder(`[{level: ${level}}]`, 0);
    const rule = recorder.ruleFor(jane, request.info);
    assert.ok(rule !== undefined);
    await recorder.record(rule, "ResponseComplete", request, undefined);
    const line = JSON.parse(opened[0]?.lines[0] ?? "{}") as { responseStatus: { details: object } };
    return line.responseStatus.details;
  };
  assert.deepEqual(await told("Metadata"), { name: "m", kind: "ConfigMap" });
  assert.deepEqual(await told("Request"), { name: "m", kind: "ConfigMap", causes });
});

test("S2-REQ-09: a line of the legacy format has no objects, beside a backend that has them", async () => {
  const { recorder, opened } = openRecorder("[{level: Request}]", 0, 0, 100);
  for (const outlet of opened.slice(1)) outlet.format = "legacy";
  const request = audited("POST", MAPS, { userAgent: "curl" });
  const rule = recorder.ruleFor(jane, request.info);
  assert.ok(rule !== undefined);
  const capture = new AuditCapture({ request: true, response: false });
  capture.takeRequest(() => '{"data":{"a":"kept"}}');

  await recorder.record(rule, "ResponseComplete", request, capture);

  const [json, legacy, none] = opened;
  assert.match(json?.lines[0] ?? "", /kept/);
  assert.deepEqual(legacy?.lines, [
    `1970-01-01T00:00:00Z AUDIT: id="1" stage="ResponseComplete" ip="10.0.0.1" method="create" user="jane" groups="<none>" as="<self>" asgroups="<lookup>" user-agent="curl" namespace="shop" uri="${MAPS}" response="200"`,
  ]);
  assert.deepEqual([none?.lines, none?.outcomes], [[], ["large"]]);
});

test("each request counts once at its level, whatever its stages, and those that are not recorded as well", () => {
  const { recorder, levels } = openRecorder(
    '[{level: Metadata, resources: [{group: "", resources: [configmaps]}]}, {level: None}]',
    0,
  );
  const request = audited("GET", MAPS);
  const rule = recorder.ruleFor(jane, request.info);
  assert.ok(rule !== undefined);
  for (const stage of ["RequestReceived", "ResponseStarted", "ResponseComplete"] as const) {
    void recorder.record(rule, stage, request, undefined);
  }
  recorder.ruleFor(jane, parseRequestInfo("GET", "/version"));

  assert.deepEqual(levels, ["Metadata", "None"]);
});

test("a record says by which verb somebody was impersonated, from where, and no more of a client's name than it should", async () => {
  const { recorder, opened } = openRecorder("[{level: Metadata}]", 0);
  const request = audited("GET", MAPS, {
    impersonated: createUser({ name: "john" }),
    impersonationConstraint: "impersonate:user-info",
    forwardedFor: "192.0.2.7, nonsense,2001:db8::1",
    realIp: "192.0.2.8",
    userAgent: "u".repeat(2_000),
  });
  const rule = recorder.ruleFor(jane, request.info);
  assert.ok(rule !== undefined);

  await recorder.record(rule, "ResponseComplete", request, undefined);

  const [line = ""] = opened[0]?.lines ?? [];
  const { authenticationMetadata, sourceIPs, userAgent } = JSON.parse(line);
  assert.deepEqual(
    { authenticationMetadata, sourceIPs, userAgent },
    {
      authenticationMetadata: { impersonationConstraint: "impersonate:user-info" },
      sourceIPs: ["192.0.2.7", "2001:db8::1", "192.0.2.8", "10.0.0.1"],
      userAgent: `${"u".repeat(1_024)}...TRUNCATED`,
    },
  );
});
