/**
 * The steps of the operators' pages, as they are written there: those of kubectl and Helm are run in their order against a simulated
 * cluster, and each other one is in a list with the test that runs it. A step that no list has fails.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { DEADLINE_MS } from "../harness/eventually.js";
import { isLong } from "../harness/is-long.js";
import { startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { requireTool } from "../tools/find-tool.js";
import { missingHelm, REPOSITORY } from "./chart.js";

const run = promisify(execFile);
const PAGES = ["install", "upgrade", "backup", "alerts", "limits"];
const PROGRAM =
  /^(?:sudo )?(?:kubectl|helm|etcdctl|etcdutl|docker|buildah|npm|systemctl|echo|deploy\/)\b/;

/** In the order in which somebody would need them: the release over an etcd of one's own, then the trial. */
const RUN: readonly string[] = [
  "kubectl create namespace keelson",
  "kubectl -n keelson create secret generic keelson-etcd-client --from-file=ca.crt --from-file=tls.crt --from-file=tls.key",
  "helm install keelson helm/keelson --namespace keelson --set image.repository=registry.example.com/keelson --set etcd.tls.secretName=keelson-etcd-client --set 'etcd.endpoints={https://etcd-0:2379,https://etcd-1:2379,https://etcd-2:2379}'",
  "kubectl -n keelson rollout status deployment/keelson",
  "helm test keelson --namespace keelson",
  "helm upgrade keelson helm/keelson --namespace keelson --reset-then-reuse-values --set image.tag=TAG",
  "helm rollback keelson --namespace keelson",
  "kubectl -n keelson scale deployment --all --replicas=0",
  // Of the chart's own page, for the steps that are about what it brings.
  "helm uninstall keelson --namespace keelson",
  "helm install keelson helm/keelson --namespace keelson --create-namespace --set etcd.bundled.enabled=true",
  "helm upgrade keelson helm/keelson --namespace keelson --reset-then-reuse-values --set backup.enabled=true",
  "kubectl -n keelson create job --from=cronjob/keelson-backup now",
  "kubectl -n keelson scale statefulset keelson-etcd --replicas=0",
  "kubectl -n keelson scale statefulset keelson-etcd --replicas=3",
  "kubectl -n keelson rollout status statefulset/keelson-etcd",
  "helm upgrade keelson helm/keelson --namespace keelson --reset-then-reuse-values --set etcd.bundled.clusterState=existing",
  "kubectl -n keelson delete pvc/data-keelson-etcd-1 pod/keelson-etcd-1 --wait=false",
  "kubectl -n keelson rollout status statefulset/keelson-etcd",
];

/** It only looks, or needs what tests do not have. */
const UNTESTED = "no test";

/** How other steps begin, and which test runs them or what they run. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "docker compose -f deploy/compose.yaml": "e2e/compose.test.ts",
  "docker buildx build": "e2e/image.test.ts",
  "buildah bud": "e2e/image.test.ts",
  "npm ci && npm start": UNTESTED,
  "npm ci && npm pack": "e2e/systemd.test.ts",
  "sudo deploy/systemd/install.sh": "e2e/systemd.test.ts",
  "echo 'KEELSON_FLAGS": "e2e/systemd.test.ts",
  "sudo systemctl enable": "e2e/systemd.test.ts",
  systemctl: "e2e/systemd.test.ts",
  "npm run cluster": UNTESTED,
  "npm run adversary": UNTESTED,
  "npm run test:long": "e2e/helm/upgrade.test.ts",
  "npm test": "e2e/helm/alert-rules.test.ts",
  "helm upgrade --no-hooks": "e2e/helm/upgrade.test.ts",
  "etcdctl --endpoints": UNTESTED,
  "etcdctl endpoint status": UNTESTED,
  etcdutl: "e2e/cluster/restore.test.ts",
  // Commands in pods: what they run there is tried by these.
  "kubectl -n keelson exec deployment/keelson -- cat": "e2e/helm/processes.test.ts",
  "kubectl -n keelson exec keelson-etcd-0 -- etcdctl": UNTESTED,
  "kubectl -n keelson port-forward": UNTESTED,
  // They only look.
  "kubectl describe": UNTESTED,
  "kubectl logs -p": "e2e/nodes.test.ts",
  "kubectl get --raw /debug/turns": UNTESTED,
};

/** In a line or in a block of its own. */
function stepsOf(text: string): string[] {
  const inline = [...text.matchAll(/`([^`\n]+)`/g)].map(([, step = ""]) => step);
  const blocks = [...text.matchAll(/^ {4,}(\S.*)$/gm)].map(([, step = ""]) => step);
  return [...inline, ...blocks].filter((step) => PROGRAM.test(step) && step.includes(" "));
}

test("each step of the operators' pages is run by a test", async () => {
  const texts = await Promise.all(
    PAGES.map((name) => readFile(join(REPOSITORY, "docs", "run", `${name}.md`), "utf8")),
  );
  const steps = texts.flatMap(stepsOf);
  assert.ok(steps.length > 30);
  const begins = Object.keys(ELSEWHERE);
  const nobody = steps.filter(
    (step) => !RUN.includes(step) && !begins.some((begin) => step.startsWith(begin)),
  );
  assert.deepEqual(nobody, []);
  for (const file of Object.values(ELSEWHERE)) {
    assert.ok(file === UNTESTED || existsSync(join(REPOSITORY, file)), file);
  }
});

// As long as it takes, its steps are those of install.test.ts for the most part: in the long run.
if (isLong)
  test(
    "the steps of kubectl and Helm in the operators' pages work as they are written",
    {
      skip: await missingHelm("helm-4"),
    },
    runSteps,
  );

async function runSteps(t: TestContext): Promise<void> {
  await using server = await startServer({ flags: ["--simulate=nodes,workloads"] });
  await using folder = await makeTempDir("pages");
  const at = (name: string) => join(folder.path, name);
  for (const name of ["ca.crt", "tls.crt", "tls.key"]) await writeFile(at(name), name);
  await symlink(join(REPOSITORY, "helm"), at("helm"));
  await symlink(await requireTool("helm-4"), at("helm-command"));
  const helm = `helm() { '${at("helm-command")}' "$@"; }\n`;
  const kubectl = `kubectl() { '${await requireTool("kubectl")}' "$@"; }\n`;
  const homes = ["CACHE", "CONFIG", "DATA"].map((name) => [`HELM_${name}_HOME`, at(name)]);
  const env = {
    ...process.env,
    ...Object.fromEntries(homes),
    KUBECONFIG: server.kubeconfig,
    HOME: folder.path,
  };
  for (const step of RUN) {
    const begun = performance.now();
    const line = step.replace("TAG", "0.1.0");
    await run("sh", ["-ec", helm + kubectl + line], {
      cwd: folder.path,
      env,
      timeout: DEADLINE_MS,
    });
    t.diagnostic(`${Math.round(performance.now() - begun)} ms: ${step.slice(0, 70)}`);
  }
  const { items } = (await server.client.get("/apis/batch/v1/namespaces/keelson/jobs")).expect(200);
  assert.ok(items.some(({ metadata }) => metadata.name === "now"));
}
