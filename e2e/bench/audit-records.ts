/**
 * `node dist/e2e/bench/audit-records.js`: so many audit records (1,000,000, or the first argument) through a
 * running server to a webhook that takes them, stalls, fails and comes back, again and again; then the accounts
 * are compared: what the server has made, what it says has become of each, and what the webhook has taken.
 *
 * Ends with 1 when a record is missing from them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { openWebhookStub } from "../../server/client/testing/webhook-stub.js";
import { eventually } from "../harness/eventually.js";
import { startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { metric } from "../promises/gauge.js";
import { Http1Connection } from "./http1-connection.js";

const RECORDS = Number(process.argv[2] ?? 1_000_000);
const LANES = 32;
const PHASE_MS = 4_000;
/** Two records a request, when it came and when it was answered; none of those that look at the counts. */
const POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
rules: [{level: None, nonResourceURLs: ["/metrics", "/readyz"]}, {level: Metadata}]
`;

type Phase = "takes" | "stalls" | "fails";
const PHASES: readonly Phase[] = ["takes", "stalls", "takes", "fails"];

await using folder = await makeTempDir("audit-records");
const webhookIs: { phase: Phase; taken: number; repeated: number } = {
  phase: "takes",
  taken: 0,
  repeated: 0,
};
const ids = new Set<string>();
await using stub = await openWebhookStub(async (call) => {
  while (webhookIs.phase === "stalls") await sleep(50);
  if (webhookIs.phase === "fails") return { status: 500 };
  for (const { auditID, stage } of (
    call.body as unknown as { items: { auditID: string; stage: string }[] }
  ).items) {
    const key = `${auditID}/${stage}`;
    if (ids.has(key)) webhookIs.repeated++;
    ids.add(key);
    webhookIs.taken++;
  }
  stub.calls.length = 0;
  return { status: 200 };
});
const policy = await folder.write("policy.yaml", POLICY);
const webhook = await folder.write("webhook.kubeconfig", stub.kubeconfig);
await using server = await startServer({
  flags: [
    `--audit-policy-file=${policy}`,
    `--audit-webhook-config-file=${webhook}`,
    "--audit-webhook-batch-max-wait=100ms",
    "--audit-webhook-batch-throttle-enable=false",
    "--audit-webhook-initial-backoff=100ms",
    "--run-controllers=false",
  ],
});
const progress = { asked: 0, phases: 0 };
const lane = async () => {
  const connection = await Http1Connection.open(server);
  while (progress.asked * 2 < RECORDS) {
    progress.asked++;
    await connection.request({ method: "GET", path: "/version" });
  }
  connection.close();
};
const begunMs = performance.now();
const turning = setInterval(() => {
  webhookIs.phase = PHASES[++progress.phases % PHASES.length] ?? "takes";
}, PHASE_MS);
await Promise.all(Array.from({ length: LANES }, lane));
clearInterval(turning);
webhookIs.phase = "takes";
const seconds = (performance.now() - begunMs) / 1_000;

const counts = await eventually(
  "nothing waits",
  async () => {
    const [made, recorded, full, failed, waiting] = await Promise.all([
      metric(server, "apiserver_audit_event_total"),
      metric(server, "apiserver_audit_recorded_total"),
      metric(server, "apiserver_audit_error_total", 'reason="full"'),
      metric(server, "apiserver_audit_error_total", 'reason="failed"'),
      metric(server, "apiserver_audit_waiting"),
    ]);
    return waiting === 0 ? { made, recorded, full, failed } : undefined;
  },
  60_000,
);
await server.stop();
const { made, recorded, full, failed } = counts;
const { asked } = progress;
const { taken, repeated } = webhookIs;
const isExact =
  made === 2 * asked && made === recorded + full + failed && taken === recorded && repeated === 0;
const facts = { seconds: Math.round(seconds), asked, ...counts, taken, repeated, isExact };
process.stdout.write(`${JSON.stringify(facts)}\n`);
process.exitCode = isExact ? 0 : 1;
