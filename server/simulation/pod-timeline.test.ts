/** The life of a simulated pod, moment by moment. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { momentOf } from "./pod-timeline.js";
import { parseSimulation, settingsOf } from "./settings.js";

function lifeOf(rule: Record<string, string | number>, restartPolicy = "Always", failedBefore = 0) {
  const settings = parseSimulation({ rules: [rule] });
  const metadata = { namespace: "shop", name: "web-1" };
  const pod = {
    ...{ apiVersion: "v1", kind: "Pod", metadata },
    spec: { restartPolicy, containers: [{ name: "app", image: "app:1" }] },
  };
  const common = { pod, settings: settingsOf(settings, metadata), seed: 0 };
  return { ...common, failedBefore, begunAtMs: 0 };
}

function seen(life: ReturnType<typeof lifeOf>, times: readonly number[]) {
  return times.map((atMs) => {
    const { phase, containers, nextAtMs } = momentOf(life, atMs);
    const [container] = containers;
    const what = container?.state.is === "waiting" ? container.state.reason : container?.state.is;
    return [atMs, phase, what, container?.isReady, container?.restarts, nextAtMs];
  });
}

test("a pod starts, is ready, and stays so", () => {
  assert.deepEqual(seen(lifeOf({ startAfter: "1s", readyAfter: "2s" }), [0, 1_000, 3_000, 1e9]), [
    [0, "Pending", "ContainerCreating", false, 0, 1_000],
    [1_000, "Running", "running", false, 0, 3_000],
    [3_000, "Running", "running", true, 0, undefined],
    [1e9, "Running", "running", true, 0, undefined],
  ]);
});

test("an image is found at the third attempt", () => {
  assert.deepEqual(seen(lifeOf({ fails: "image-pull", times: 2 }), [0, 1_000, 2_999, 3_000]), [
    [0, "Pending", "ErrImagePull", false, 0, 1_000],
    [1_000, "Pending", "ImagePullBackOff", false, 0, 3_000],
    [2_999, "Pending", "ImagePullBackOff", false, 0, 3_000],
    [3_000, "Running", "running", true, 0, undefined],
  ]);
});

test("a container crashes twice, with pauses that grow", () => {
  const life = lifeOf({ fails: "crash", times: 2, runsFor: "100ms" });
  assert.deepEqual(seen(life, [0, 100, 1_100, 1_200, 3_200]), [
    [0, "Running", "running", true, 0, 100],
    [100, "Running", "CrashLoopBackOff", false, 0, 1_100],
    [1_100, "Running", "running", true, 1, 1_200],
    [1_200, "Running", "CrashLoopBackOff", false, 1, 3_200],
    [3_200, "Running", "running", true, 2, 3_300],
  ]);
});

test("a pod that is to end ends at once, and fails as often as is said, counting those before it", () => {
  assert.deepEqual(seen(lifeOf({}, "Never"), [0]), [
    [0, "Succeeded", "terminated", false, 0, undefined],
  ]);
  const crash = { fails: "crash", times: 2 };
  const phaseAfter = (failed: number) => momentOf(lifeOf(crash, "Never", failed), 0).phase;
  assert.deepEqual([0, 1, 2].map(phaseAfter), ["Failed", "Failed", "Succeeded"]);
  assert.equal(momentOf(lifeOf(crash, "OnFailure"), 3_000).phase, "Succeeded");
});

test("a container that crashes for ever is looked at in bounded time, however late it is", () => {
  const moment = momentOf(lifeOf({ fails: "crash" }), 100 * 365 * 86_400_000);
  assert.equal(moment.phase, "Running");
});

test("#45 a pod whose annotations make no sense does not start, and says why; one that runs goes on", () => {
  const life = lifeOf({ startAfter: "1s" });
  const wrong = { ...life, settings: { ...life.settings, mistake: "annotation x: unknown" } };
  assert.deepEqual(seen(wrong, [0, 1e9]), [
    [0, "Pending", "CreateContainerConfigError", false, 0, undefined],
    [1e9, "Pending", "CreateContainerConfigError", false, 0, undefined],
  ]);
  const [container] = momentOf(wrong, 0).containers;
  assert.equal(
    container?.state.is === "waiting" && container.state.message,
    wrong.settings.mistake,
  );
  const runs = { ...wrong, pod: { ...wrong.pod, status: { phase: "Running" } } };
  assert.deepEqual(seen(runs, [1_000]), [[1_000, "Running", "running", true, 0, undefined]]);
});
