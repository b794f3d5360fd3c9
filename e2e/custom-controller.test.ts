/**
 * A controller as people write them, with the official JavaScript client: an informer over a custom
 * kind, a finalizer, a status that follows the spec. It lives through dozens of objects, ends in the
 * server's state, and a restart of the server in the middle does not hurt it.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CustomObjectsApi,
  KubeConfig,
  type KubernetesObject,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
} from "@kubernetes/client-node";
import { widget, widgetDefinition } from "./fixtures/widgets.js";
import { eventually } from "./harness/eventually.js";
import { furnished } from "./harness/furnished-namespace.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { openStore } from "./harness/stores.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { freePort } from "./tools/child.js";

const OBJECTS = 30;
const FINALIZER = "example.com/paint";
const RETRY_MS = 50;
const KIND = { group: "example.com", version: "v1", namespace: "default", plural: "widgets" };
const PATH = "/apis/example.com/v1/namespaces/default/widgets";

interface Widget extends KubernetesObject {
  readonly spec: { readonly replicas: number };
  readonly status?: { readonly replicas?: number };
}

test("a controller with informer, finalizer and status keeps up, also over a restart", {
  timeout: 120_000,
}, async () => {
  await using store = await openStore("etcd");
  await using dir = await makeTempDir("controller");
  const options = {
    ...store.etcd,
    dataDir: dir.path,
    port: await freePort(),
    flags: ["--run-controllers"],
  };
  await using first = await startServer(options);
  await furnished(first.client);
  (
    await first.client.post(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      widgetDefinition(),
    )
  ).expect(201);
  await using controller = await startController(first);
  const create = async (server: ServerProcess, from: number, to: number) => {
    for (let index = from; index < to; index++) {
      (await server.client.post(PATH, widget(`w${index}`, { replicas: index % 10 }))).expect(201);
    }
  };
  await create(first, 0, OBJECTS / 2);
  await first.stop();
  await using second = await startServer(options);
  await create(second, OBJECTS / 2, OBJECTS);
  const list = async () => (await second.client.get(PATH)).expect(200).items as unknown as Widget[];
  await eventually("every object has its finalizer and its status", async () => {
    const widgets = await list();
    return (
      widgets.length === OBJECTS &&
      widgets.every(({ spec, status }) => status?.replicas === spec.replicas) &&
      widgets.every(({ metadata }) => metadata?.finalizers?.includes(FINALIZER) === true)
    );
  });
  (await second.client.delete(PATH)).expect(200);
  await eventually("every object is let go", async () => (await list()).length === 0);
  await eventually("the informer has seen it", () => controller.known() === 0);
  await second.stop();
});

interface Controller extends AsyncDisposable {
  /** Objects in the informer's cache. */
  known(): number;
}

async function startController(server: ServerProcess): Promise<Controller> {
  const config = new KubeConfig();
  config.loadFromFile(server.kubeconfig);
  const api = config.makeApiClient(CustomObjectsApi);
  const patch = async (name: string, body: object, part: "" | "Status") => {
    const headers = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
    const request = { ...KIND, name, body };
    if (part === "Status") await api.patchNamespacedCustomObjectStatus(request, headers);
    else await api.patchNamespacedCustomObject(request, headers);
  };
  let isStopped = false;
  /** Until it succeeds: a server that restarts is asked again, an object that is gone is done. */
  const reconcile = async (object: Widget): Promise<void> => {
    const { name = "", deletionTimestamp, finalizers = [] } = object.metadata ?? {};
    while (!isStopped) {
      try {
        if (deletionTimestamp !== undefined) {
          if (finalizers.includes(FINALIZER))
            await patch(name, { metadata: { finalizers: null } }, "");
          return;
        }
        if (!finalizers.includes(FINALIZER)) {
          await patch(name, { metadata: { finalizers: [FINALIZER] } }, "");
        }
        if (object.status?.replicas !== object.spec.replicas) {
          await patch(name, { status: { replicas: object.spec.replicas } }, "Status");
        }
        return;
      } catch (error) {
        if ((error as { code?: number }).code === 404) return;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  };
  const informer = makeInformer<Widget>(config, PATH, async () => {
    return await api.listNamespacedCustomObject(KIND);
  });
  informer.on("add", (object) => void reconcile(object));
  informer.on("update", (object) => void reconcile(object));
  informer.on("error", () => {
    setTimeout(() => {
      if (!isStopped) void informer.start().catch(() => {});
    }, RETRY_MS);
  });
  await informer.start();
  assert.ok(informer.list("default") !== undefined);
  return {
    known: () => informer.list("default").length,
    async [Symbol.asyncDispose]() {
      isStopped = true;
      await informer.stop();
    },
  };
}
