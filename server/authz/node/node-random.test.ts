/**
 * Random histories of pods and volumes: after every change the indexed Node authorizer agrees with a
 * full scan, for every node and every object.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DEFAULT_RING_LIMITS } from "../../../storage/cache/event-ring.js";
import { ObjectTree } from "../../../storage/cache/object-tree.js";
import { Partition } from "../../../storage/cache/partition.js";
import { Retention } from "../../../storage/cache/retention.js";
import { NO_DELIVERY } from "../../../storage/cache/testing/no-delivery.js";
import { type Revision, toRevision } from "../../../storage/kv/store.js";
import { ByteArena } from "../../../storage/objects/byte-arena.js";
import { decodeStoredObject } from "../../../storage/objects/decode-object.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { createNaming } from "../../api/naming.js";
import { parseRequestInfo } from "../../request/request-info.js";
import { createUser } from "../../request/user-info.js";
import { NodeAuthorizer } from "./node-authorizer.js";

const NODES = ["n1", "n2"];
const NAMESPACES = ["a", "b"];
const NAMES = ["x", "y"];
const RUNS = 300;

interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly isMirror: boolean;
  /** A secret and a claim of its namespace; "" = none. */
  readonly secret: string;
  readonly claim: string;
}

interface Volume {
  readonly name: string;
  /** "namespace/name"; "" = no claim. */
  readonly claim: string;
  readonly secret: string;
}

type Change =
  | { readonly type: "pod"; readonly pod: Pod }
  | { readonly type: "volume"; readonly volume: Volume }
  | { readonly type: "no pod"; readonly pod: Pick<Pod, "namespace" | "name"> }
  | { readonly type: "no volume"; readonly volume: Pick<Volume, "name"> }
  /** The view was reloaded. */
  | { readonly type: "reload" };

const place = {
  namespace: fc.constantFrom(...NAMESPACES),
  name: fc.constantFrom("p", "q", "r"),
};
const maybe = (names: readonly string[]) => fc.constantFrom("", ...names);
const paths = NAMESPACES.flatMap((namespace) => NAMES.map((name) => `${namespace}/${name}`));
const volumeName = fc.constantFrom("v", "w");

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    type: fc.constant("pod" as const),
    pod: fc.record({
      ...place,
      node: maybe(NODES),
      isMirror: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
      secret: maybe(NAMES),
      claim: maybe(NAMES),
    }),
  }),
  fc.record({
    type: fc.constant("volume" as const),
    volume: fc.record({ name: volumeName, claim: maybe(paths), secret: maybe(paths) }),
  }),
  fc.record({ type: fc.constant("no pod" as const), pod: fc.record(place) }),
  fc.record({
    type: fc.constant("no volume" as const),
    volume: fc.record({ name: volumeName }),
  }),
  fc.constant({ type: "reload" as const }),
);

/** A server's view, changed by hand. */
class Bench {
  revision = toRevision(1);
  readonly arena = new ByteArena();
  readonly #partitions = new Map<string, Partition>();

  partition(id: string): Partition {
    let partition = this.#partitions.get(id);
    if (partition === undefined) {
      const retention = new Retention(DEFAULT_RING_LIMITS, []);
      const { revision: floor } = this;
      partition = new Partition({
        id,
        host: this,
        retention,
        openDelivery: () => NO_DELIVERY,
        floor,
      });
      this.#partitions.set(id, partition);
    }
    return partition;
  }

  cannotFollow(_id: string, _path: string, error: unknown): void {
    throw error;
  }

  put(id: string, namespace: string, name: string, rest: object, node = ""): void {
    this.partition(id).put(storedAt(this.#next(), namespace, name, rest, node), 0);
  }

  delete(id: string, namespace: string, name: string): void {
    this.partition(id).delete(objectPath(namespace, name), this.#next(), 0);
  }

  reload(): void {
    for (const partition of this.#partitions.values()) {
      const tree = new ObjectTree();
      partition.snapshot().tree.visit("", "", (object) => {
        tree.set(object);
        return undefined;
      });
      partition.replace(tree, this.revision);
    }
  }

  #next(): Revision {
    this.revision = toRevision(this.revision + 1);
    return this.revision;
  }
}

function storedAt(
  revision: Revision,
  namespace: string,
  name: string,
  { metadata, ...rest }: { metadata?: object },
  node: string,
): StoredObject {
  const object = {
    kind: "X",
    apiVersion: "v1",
    metadata: { ...metadata, name, namespace },
    ...rest,
  };
  const key = { path: objectPath(namespace, name), namespace, name };
  const fields = () => ({ "spec.nodeName": node });
  return decodeStoredObject(key, Buffer.from(JSON.stringify(object)), revision, {
    extractFields: fields,
  });
}

function putPod(bench: Bench, { namespace, name, node, isMirror, secret, claim }: Pod): void {
  const annotations = isMirror ? { "kubernetes.io/config.mirror": "x" } : {};
  const volumes = [
    ...(secret === "" ? [] : [{ name: "s", secret: { secretName: secret } }]),
    ...(claim === "" ? [] : [{ name: "c", persistentVolumeClaim: { claimName: claim } }]),
  ];
  bench.put("core/pods", namespace, name, { metadata: { annotations }, spec: { volumes } }, node);
}

function putVolume(bench: Bench, { name, claim, secret }: Volume): void {
  const reference = (path: string) => {
    const [namespace, of] = path.split("/");
    return { namespace, name: of };
  };
  const csi = secret === "" ? {} : { nodeStageSecretRef: reference(secret) };
  const claimRef = claim === "" ? undefined : reference(claim);
  bench.put("core/persistentvolumes", "", name, { spec: { csi, claimRef } });
}

/** All pods and volumes, without indexes. */
class World {
  readonly #pods = new Map<string, Pod>();
  readonly #volumes = new Map<string, Volume>();

  apply(bench: Bench, one: Change): void {
    switch (one.type) {
      case "pod":
        this.#pods.set(`${one.pod.namespace}/${one.pod.name}`, one.pod);
        putPod(bench, one.pod);
        break;
      case "no pod":
        this.#pods.delete(`${one.pod.namespace}/${one.pod.name}`);
        bench.delete("core/pods", one.pod.namespace, one.pod.name);
        break;
      case "volume":
        this.#volumes.set(one.volume.name, one.volume);
        putVolume(bench, one.volume);
        break;
      case "no volume":
        this.#volumes.delete(one.volume.name);
        bench.delete("core/persistentvolumes", "", one.volume.name);
        break;
      case "reload":
        bench.reload();
        break;
    }
  }

  /** Secret paths, claim paths and volume names. */
  readableBy(node: string): { secrets: Set<string>; claims: Set<string>; volumes: Set<string> } {
    const own = [...this.#pods.values()].filter((pod) => pod.node === node && !pod.isMirror);
    const pathsOf = (field: "secret" | "claim") =>
      own.filter((pod) => pod[field] !== "").map((pod) => `${pod.namespace}/${pod[field]}`);
    const claims = new Set(pathsOf("claim"));
    const mounted = [...this.#volumes.values()].filter(({ claim }) => claims.has(claim));
    return {
      secrets: new Set([...pathsOf("secret"), ...mounted.map(({ secret }) => secret)]),
      claims,
      volumes: new Set(mounted.map(({ name }) => name)),
    };
  }
}

test("S2-NODE-03: after every change a node may read what its pods need, and nothing else", () => {
  const users = NODES.map((node) =>
    createUser({ name: `system:node:${node}`, groups: ["system:nodes"] }),
  );
  const url = (resource: string, path: string) => {
    const [namespace, name] = path.split("/");
    return parseRequestInfo("GET", `/api/v1/namespaces/${namespace}/${resource}/${name}`);
  };
  fc.assert(
    fc.property(fc.array(change, { maxLength: 25 }), (changes) => {
      const bench = new Bench();
      const world = new World();
      const authorizer = new NodeAuthorizer(bench, createNaming("kubernetes"));
      for (const one of changes) {
        world.apply(bench, one);
        for (const [index, user] of users.entries()) {
          const expected = world.readableBy(NODES[index] as string);
          const may = (info: ReturnType<typeof parseRequestInfo>) => {
            const result = authorizer.authorize({ user, info });
            assert.ok(!(result instanceof Promise), "what is small is decided at once");
            return result.decision === "allow";
          };
          for (const path of paths) {
            assert.equal(may(url("secrets", path)), expected.secrets.has(path), `secret ${path}`);
            assert.equal(
              may(url("persistentvolumeclaims", path)),
              expected.claims.has(path),
              `claim ${path}`,
            );
          }
          for (const name of ["v", "w"]) {
            const info = parseRequestInfo("GET", `/api/v1/persistentvolumes/${name}`);
            assert.equal(may(info), expected.volumes.has(name), `volume ${name}`);
          }
        }
      }
    }),
    { numRuns: RUNS },
  );
});
