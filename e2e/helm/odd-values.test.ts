/** Values that YAML reads as something else, and those that cannot work however they are meant. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { stringify } from "yaml";
import { makeTempDir } from "../harness/temp-dir.js";
import { CHART, HELMS, missingHelm, type Rendered, renderChart, runHelm } from "./chart.js";
import { toTree } from "./render-many.js";

/** All that is in an installation, over an etcd of one's own and with a bundled one. */
const OWN = (name: (plain: string) => string) => ({
  "image.repository": name("image"),
  "image.tag": name("tag"),
  "serviceAccount.name": name("account"),
  priorityClassName: name("class"),
  "etcd.endpoints": ["https://etcd:2379"],
  "etcd.prefix": `/${name("prefix")}`,
  "etcd.tls.secretName": name("etcd"),
  "etcd.tls.caKey": name("ca"),
  "etcd.auth.username": name("user"),
  "etcd.auth.passwordSecretName": name("password"),
  "etcd.auth.passwordSecretKey": name("key"),
  "redis.url": "rediss://redis",
  "redis.passwordSecretName": name("redis"),
  "redis.passwordSecretKey": name("key"),
  "redis.caSecretName": name("authority"),
  "redis.caSecretKey": name("ca"),
  "backup.enabled": true,
  "backup.existingClaim": name("claim"),
  "certificates.source": "secret",
  "certificates.secretName": name("certificate"),
  "certificates.rootAuthoritySecretName": name("root"),
  "certificates.rootAuthoritySecretKey": name("ca"),
  "certificates.clientAuthoritySecretName": name("clients"),
  "certificates.clientAuthoritySecretKey": name("ca"),
  "serviceAccountKeys.secretName": name("keys"),
  "serviceAccountKeys.signingKey": name("sign"),
  "configuration.existingSecret": name("files"),
  "configuration.existingSecretFiles": ["tokens"],
  "ingress.enabled": true,
  "ingress.className": name("ingress"),
  "ingress.host": "*.example.com",
  "gateway.enabled": true,
  "networkPolicy.enabled": true,
  "monitoring.serviceMonitor.enabled": true,
  "monitoring.prometheusRule.enabled": true,
  "monitoring.dashboards.enabled": true,
  "server.bindAddress": "::",
  "service.type": "LoadBalancer",
  "service.loadBalancerClass": name("balancer"),
});
const BUNDLED = (name: (plain: string) => string) => ({
  nameOverride: name("name"),
  "etcd.bundled.enabled": true,
  "etcd.bundled.image": name("image"),
  "etcd.bundled.storageClassName": name("class"),
  "redis.bundled.enabled": true,
  "redis.bundled.image": name("image"),
  "backup.enabled": true,
  "backup.storageClassName": name("class"),
  "certificates.source": "job",
  "monitoring.token": name("token"),
  "server.bindAddress": "::",
  "controllers.separate": false,
});

for (const helm of HELMS) {
  const skip = await missingHelm(helm);

  test(`P5: names that YAML reads as numbers or as truth, and addresses that end in a colon, stay texts (${helm})`, {
    skip,
  }, async () => {
    for (const values of [OWN, BUNDLED]) {
      const plain = typesOf(
        await renderChart(
          helm,
          values((name) => name),
        ),
      );
      for (const odd of ["true", "1e3", "0123"]) {
        const release = odd === "true" ? odd : "demo";
        const options = { release, namespace: odd };
        const types = typesOf(
          await renderChart(
            helm,
            values(() => odd),
            options,
          ),
        );
        const others = types.filter((type) => !plain.includes(type));
        assert.deepEqual(others, [], odd);
        assert.equal(types.length, plain.length, odd);
      }
    }
  });

  test(`P13: a part that a file of values sets to null is named in a sentence (${helm})`, {
    skip,
  }, async () => {
    await using folder = await makeTempDir("values");
    const file = join(folder.path, "values.yaml");
    for (const part of ["server", "probes", "service", "redis", "certificates", "image"]) {
      await writeFile(file, stringify({ etcd: { bundled: { enabled: true } }, [part]: null }));
      const { code, stderr } = await runHelm(helm, ["template", "demo", CHART, "-f", file]);
      assert.notEqual(code, 0);
      assert.match(stderr, new RegExp(`missing property '${part}'|${part} is required`), part);
    }
  });
}

test("P13: a schedule is judged as the API judges it, and the wrong field is named", {
  skip: await missingHelm("helm-4"),
}, async () => {
  const right = ["@daily", "*/15 0-5/2,23 ? JAN-mar SUN", "0 08 1,15 * 1-5", "59 23 31 12 6"];
  const wrong: Readonly<Record<string, RegExp>> = {
    "60 * * * *": /a minute is from 0 to 59/,
    "0 24 * * *": /a hour is from 0 to 23/,
    "0 0 0 * *": /a day of the month is from 1 to 31/,
    "0 0 L * *": /"L" is no day of the month/,
    "0 0 * 13 *": /a month is from 1 to 12/,
    "0 0 * * 7": /a day of the week is from 0 to 6/,
    "5-1 * * * *": /"5-1" ends before it begins/,
    "*/0 * * * *": /"\*\/0" is no minute/,
  };
  await using folder = await makeTempDir("schedules");
  const render = async (schedule: string) => {
    const values = {
      "etcd.bundled.enabled": true,
      "backup.enabled": true,
      "backup.schedule": schedule,
    };
    const file = await folder.write("values.yaml", JSON.stringify(toTree(values)));
    return await runHelm("helm-4", ["template", "demo", CHART, "-f", file]);
  };
  for (const schedule of right) {
    const { code, stderr } = await render(schedule);
    assert.equal(code, 0, `${schedule}: ${stderr}`);
  }
  for (const [schedule, said] of Object.entries(wrong)) {
    assert.match((await render(schedule)).stderr, said, schedule);
  }
});

/** Of each value its place and its type; places have no names that are the release's. */
function typesOf(objects: readonly Rendered[]): string[] {
  const types: string[] = [];
  const walk = (path: string, value: unknown): void => {
    if (value === null || typeof value !== "object") {
      types.push(`${path}: ${value === null ? "null" : typeof value}`);
      return;
    }
    for (const [key, one] of Object.entries(value)) walk(`${path}.${key}`, one);
  };
  const kinds = objects.toSorted((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0));
  for (const object of kinds) walk(object.kind, object);
  return types.toSorted();
}
