/** Statuses of migrations hold what webhooks said, so whatever that was, they can be stored. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { failed, type Migration, running } from "./migration-status.js";

const NOW = "2030-01-01T00:00:00Z";
const migration: Migration = {
  kind: "StorageVersionMigration",
  apiVersion: "storagemigration.k8s.io/v1beta1",
  metadata: { name: "m" },
};

test("H7: a webhook's long message is cut between characters, while it runs and when it failed", () => {
  for (const write of [running, failed]) {
    for (const start of ["", "a"]) {
      const { status } = write(migration, start + "😀".repeat(20_000), NOW);
      const message = status?.conditions?.[0]?.message ?? "";
      assert.ok(message.length > 32_000 && message.length <= 32_768);
      assert.equal(Buffer.from(message).toString(), message);
    }
  }
});
