/** docs/operations.md says what a running server says about itself. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { startServer } from "./harness/server-process.js";

/** Present only with flags that this server was not given. */
const CONDITIONAL = new Set([
  "apiserver_audit_error_total",
  "apiserver_audit_event_total",
  "apiserver_encryption_config_controller_automatic_reloads_total",
  "apiserver_storage_transformation_operations_total",
]);

function firstColumn(document: string, heading: string): string[] {
  const section = document.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/^\| `([^`]+)`/gm)].map((match) => match[1] ?? "");
}

test("CARD-08, S2-HEALTH-09: the documented metrics and health checks are those that there are", async () => {
  await using server = await startServer();
  // From dist/e2e to the repository.
  const document = await readFile(new URL("../../docs/operations.md", import.meta.url), "utf8");

  const scraped = await server.client.get("/metrics");
  const names = [...scraped.text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1] ?? "");
  const ours = names.filter((name) => !/^(process|nodejs)_/.test(name));
  const documented = firstColumn(document, "Metrics").filter((name) => !CONDITIONAL.has(name));
  assert.deepEqual(documented.toSorted(), ours.toSorted());

  const verbose = await server.client.get("/readyz?verbose");
  const checks = [...verbose.text.matchAll(/^\[\+\](\S+) ok$/gm)].map((match) => match[1] ?? "");
  assert.deepEqual(firstColumn(document, "Health").toSorted(), checks.toSorted());
});

test("S2-HEALTH-04: every check has a path below every endpoint, whether it counts there or not", async () => {
  await using server = await startServer();
  for (const endpoint of ["livez", "readyz", "healthz"]) {
    for (const name of ["ping", "etcd", "poststarthook/load-view"]) {
      const answer = (await server.client.get(`/${endpoint}/${name}`)).expect(200, name);
      assert.equal(answer.text, "ok");
    }
    (await server.client.get(`/${endpoint}/nope`)).expect(404);
  }
});
