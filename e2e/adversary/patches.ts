/** Attacks by patches and applies of an object that exists. */
import { type Attack, type Attacker, NAMESPACE } from "./attack.js";

const CORE = `/api/v1/namespaces/${NAMESPACE}`;
const MAP = `${CORE}/configmaps/many-0?dryRun=All`;
const APPLY = "&fieldManager=m&force=true";

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

/** A pod to patch; made anew if it is gone. */
async function withPod(attacker: Attacker): Promise<string> {
  const pod = { metadata: { name: "patched" }, spec: { containers: [{ name: "c", image: "i" }] } };
  await attacker.post(`${CORE}/pods`, JSON.stringify(pod));
  return `${CORE}/pods/patched?dryRun=All`;
}

const add = (path: string, value: unknown) => ({ op: "add", path, value });

export const PATCH_ATTACKS: readonly Attack[] = [
  {
    name: "json patch: 300 copies into 200,000 finalizers",
    isShort: true,
    run: async (attacker) => {
      const copy = { op: "copy", from: "/x", path: "/metadata/finalizers/0" };
      const operations = [
        add(
          "/metadata/finalizers",
          numbers(200_000).map(() => "a"),
        ),
        add("/x", { y: 1 }),
        ...numbers(300).map(() => copy),
      ];
      await attacker.patch(MAP, "json-patch+json", JSON.stringify(operations));
    },
  },
  {
    name: "json patch: 9,990 inserts at the front of 1,000,000 items",
    run: async (attacker) => {
      const operations = [
        add(
          "/data/list",
          numbers(240_000).map(() => 1),
        ),
        ...numbers(9_990).map(() => add("/data/list/0", 1)),
      ];
      await attacker.patch(MAP, "json-patch+json", JSON.stringify(operations));
    },
  },
  {
    name: "json patch: copies that double",
    isShort: true,
    run: async (attacker) => {
      const operations = [
        add("/data", { a: "b" }),
        ...numbers(40).map((at) => ({ op: "copy", from: "/data", path: `/data/k${at}` })),
      ];
      await attacker.patch(MAP, "json-patch+json", JSON.stringify(operations));
    },
  },
  {
    name: "json patch: 5,000 tests of a large value",
    run: async (attacker) => {
      const list = numbers(2_000);
      const operations = [
        add("/x", list),
        ...numbers(300).map(() => ({ op: "test", path: "/x", value: list })),
      ];
      await attacker.patch(MAP, "json-patch+json", JSON.stringify(operations));
    },
  },
  {
    name: "json patch: a path of 100,000 steps",
    run: async (attacker) => {
      const operations = numbers(10).map(() => add("/a".repeat(100_000), 1));
      await attacker.patch(MAP, "json-patch+json", JSON.stringify(operations));
    },
  },
  {
    name: "merge patch: 60,000 deep",
    run: async (attacker) => {
      const body = `${'{"a":'.repeat(60_000)}1${"}".repeat(60_000)}`;
      await attacker.patch(MAP, "merge-patch+json", body);
    },
  },
  {
    name: "merge patch: 200,000 nulls",
    run: async (attacker) => {
      const body = `{"data":{${numbers(200_000)
        .map((at) => `"k${at}":null`)
        .join(",")}}}`;
      await attacker.patch(MAP, "merge-patch+json", body);
    },
  },
  {
    name: "strategic merge: 100,000 finalizers",
    isShort: true,
    run: async (attacker) => {
      const finalizers = numbers(100_000).map((at) => `e.com/f${at}`);
      await attacker.patch(
        MAP,
        "strategic-merge-patch+json",
        JSON.stringify({ metadata: { finalizers } }),
      );
    },
  },
  {
    name: "merge patch: 29,000 other finalizers of an object that is being deleted",
    run: async (attacker) => {
      const metadata = (mark: string) => ({
        finalizers: numbers(29_000).map((at) => `e.com/${mark}${at}`),
      });
      const path = `${CORE}/configmaps/leaving`;
      const object = { metadata: { name: "leaving", ...metadata("a") } };
      await attacker.post(`${CORE}/configmaps`, JSON.stringify(object));
      await attacker.send(path, { method: "DELETE" });
      const change = JSON.stringify({ metadata: metadata("b") });
      await attacker.many(3, 3, () => attacker.patch(path, "merge-patch+json", change));
      await attacker.patch(path, "merge-patch+json", '{"metadata":{"finalizers":null}}');
    },
  },
  {
    name: "strategic merge: 40,000 containers in an order of their own",
    run: async (attacker) => {
      const path = await withPod(attacker);
      const containers = numbers(40_000).map((at) => ({ name: `c${at}` }));
      const body = { spec: { containers, "$setElementOrder/containers": containers.toReversed() } };
      await attacker.patch(path, "strategic-merge-patch+json", JSON.stringify(body));
    },
  },
  {
    name: "strategic merge: 60,000 deletions of finalizers",
    run: async (attacker) => {
      const body = {
        metadata: { "$deleteFromPrimitiveList/finalizers": numbers(60_000).map((at) => `f${at}`) },
      };
      await attacker.patch(MAP, "strategic-merge-patch+json", JSON.stringify(body));
    },
  },
  {
    name: "apply: 40,000 ports",
    isShort: true,
    run: async (attacker) => {
      const ports = numbers(40_000).map((at) => ({ name: `p${at}`, port: 1 + at }));
      const service = {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "x" },
        spec: { ports },
      };
      await attacker.patch(
        `${CORE}/services/x?dryRun=All${APPLY}`,
        "apply-patch+yaml",
        JSON.stringify(service),
      );
    },
  },
  {
    name: "apply: 60,000 keys, thirty times with another manager",
    run: async (attacker) => {
      const data = Object.fromEntries(numbers(10_000).map((at) => [`k${at}`, "v"]));
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" }, data };
      const body = JSON.stringify(object);
      await attacker.many(30, 1, (at) =>
        attacker.patch(
          `${CORE}/configmaps/applied?fieldManager=m${at}&force=true`,
          "apply-patch+yaml",
          body,
        ),
      );
    },
  },
  {
    name: "patches and a deletion of an object with large owners",
    run: async (attacker) => {
      const data = Object.fromEntries(numbers(10_000).map((at) => [`k${at}`, "v"]));
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "owned" }, data };
      const path = `${CORE}/configmaps/owned`;
      for (const at of numbers(9)) {
        const query = `?fieldManager=m${at}&force=true`;
        await attacker.patch(path + query, "apply-patch+yaml", JSON.stringify(object));
      }
      await attacker.many(6, 3, (at) =>
        attacker.patch(path, "merge-patch+json", `{"data":{"k${at}":"other"}}`),
      );
      await attacker.send(path, { method: "DELETE" });
    },
  },
  {
    name: "apply: 20,000 conflicts",
    run: async (attacker) => {
      const object = (value: string) => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "contested" },
        data: Object.fromEntries(numbers(20_000).map((at) => [`k${at}`, value])),
      });
      const path = `${CORE}/configmaps/contested`;
      const type = "apply-patch+yaml";
      await attacker.patch(`${path}?fieldManager=one`, type, JSON.stringify(object("a")));
      await attacker.patch(`${path}?fieldManager=two`, type, JSON.stringify(object("b")));
    },
  },
  {
    name: "apply: YAML of 150,000 lines",
    run: async (attacker) => {
      const lines = numbers(100_000).map((at) => `  k${at}: "v"\n`);
      const body = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n${lines.join("")}`;
      await attacker.patch(`${CORE}/configmaps/x?dryRun=All${APPLY}`, "apply-patch+yaml", body);
    },
  },
];
