/**
 * Makes strange requests from a seed: each is put together from parts that are right, almost right
 * or nonsense, so that it gets past the first check often enough to meet the next one. It leaves out
 * what the server may rightly take long over: watches and versions of the future.
 */
import fc from "fast-check";

export interface FuzzRequest {
  readonly bytes: Buffer;
  readonly isHead: boolean;
  /** For a report. */
  readonly summary: string;
}

const METHODS = ["GET", "GET", "GET", "POST", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

const RBAC = "rbac.authorization.k8s.io/v1";

/** Collections, with the kind that belongs there. */
const COLLECTIONS: readonly (readonly [path: string, apiVersion: string, kind: string])[] = [
  ["/api/v1/namespaces/default/configmaps", "v1", "ConfigMap"],
  ["/api/v1/namespaces/fuzz/configmaps", "v1", "ConfigMap"],
  ["/api/v1/configmaps", "v1", "ConfigMap"],
  ["/api/v1/namespaces/fuzz/secrets", "v1", "Secret"],
  ["/api/v1/namespaces/fuzz/pods", "v1", "Pod"],
  ["/api/v1/namespaces/fuzz/services", "v1", "Service"],
  ["/api/v1/nodes", "v1", "Node"],
  ["/api/v1/namespaces", "v1", "Namespace"],
  ["/apis/apps/v1/namespaces/default/deployments", "apps/v1", "Deployment"],
  ["/apis/batch/v1/namespaces/default/cronjobs", "batch/v1", "CronJob"],
  ["/apis/rbac.authorization.k8s.io/v1/clusterroles", RBAC, "ClusterRole"],
  ["/apis/coordination.k8s.io/v1/namespaces/fuzz/leases", "coordination.k8s.io/v1", "Lease"],
  [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
  ],
];

const OTHER_PATHS = [
  "/",
  "/api",
  "/apis",
  "/apis/",
  "/apis/apps",
  "/apis/apps/v1",
  "/api/v1",
  "/version",
  "/healthz",
  "/livez/ping",
  "/readyz?verbose",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  "/openapi/v3/api/v1",
  "/openapi/v3/apis/nothing",
];

const SEGMENTS = [
  "default",
  "fuzz",
  "x",
  "status",
  "scale",
  "log",
  "exec",
  "proxy",
  "binding",
  "watch",
  "namespaces",
  "..",
  ".",
  "",
  "%2F",
  "%2e%2e",
  "%00",
  "%zz",
  "%",
  "%ff%fe",
  "%F0%9F%90%99",
  "constructor",
  "__proto__",
  "hasOwnProperty",
  "a".repeat(300),
  "v1",
  "v1beta1",
  ";",
  "{}",
  "'\\",
];

const QUERY_KEYS = [
  "limit",
  "continue",
  "labelSelector",
  "fieldSelector",
  "resourceVersion",
  "resourceVersionMatch",
  "timeoutSeconds",
  "timeout",
  "dryRun",
  "fieldManager",
  "fieldValidation",
  "pretty",
  "force",
  "gracePeriodSeconds",
  "propagationPolicy",
  "orphanDependents",
  "allowWatchBookmarks",
  "sendInitialEvents",
  "includeObject",
  "exclude",
  "verbose",
  "__proto__",
  "constructor",
  "x[y][z]",
];

const QUERY_VALUES = [
  "",
  "0",
  "1",
  "-1",
  "500",
  "1.5",
  "1e3",
  "true",
  "false",
  "All",
  "Exact",
  "NotOlderThan",
  "Strict",
  "Warn",
  "Orphan",
  "Foreground",
  "None",
  "a=b",
  "a%3Db",
  "a in (b,c)",
  "a notin (",
  "!a",
  "a==b,c!=d",
  "metadata.name=x",
  "metadata.name=x,metadata.namespace!=y",
  "spec.nodeName=n",
  "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
  "%",
  "%00",
  "%ff",
  "&&==",
  "NaN",
  "Infinity",
  "-9223372036854775808",
  "9223372036854775808",
  "()",
  "x".repeat(2_000),
];

const ACCEPTS = [
  "*/*",
  "application/json",
  "application/json",
  "application/json, */*",
  "application/json;q=0.5",
  "text/csv, application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
  "application/cbor",
  "application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
  "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
  "application/json;as=Nothing",
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  "text/html;q=0.1, */*;q=0",
  ";;;,,,q=",
  "a/b/c",
  "",
];

const CONTENT_TYPES = [
  "application/json",
  "application/json",
  "application/json",
  "application/json; charset=utf-8",
  "application/yaml",
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
  "application/vnd.kubernetes.protobuf",
  "application/cbor",
  "text/plain",
  ";",
  "",
];

const KINDS = [
  "ConfigMap",
  "Secret",
  "Pod",
  "Namespace",
  "Deployment",
  "DeleteOptions",
  "List",
  "",
];
const NAMES = ["x", "y", "fuzz", "X", "", "a/b", "..", "é", "__proto__", "n".repeat(300)];

/** What the pools of random values hold; drawn once, as drawing them is slow. */
const POOL_SIZE = 500;

export class RequestFuzzer {
  readonly #values: readonly unknown[];
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
    this.#values = fc.sample(fc.jsonValue({ maxDepth: 3 }), { seed, numRuns: POOL_SIZE });
  }

  next(): FuzzRequest {
    const method = this.#pick(METHODS);
    const collection = this.#pick(COLLECTIONS);
    const target = this.#target(method, collection[0]);
    const lines = [`${method} ${target} HTTP/1.1`, "Host: x"];
    if (this.#chance(0.7)) lines.push(`Accept: ${this.#pick(ACCEPTS)}`);
    if (this.#chance(0.2)) lines.push("Accept-Encoding: gzip;q=1, br, *;q=0");
    if (this.#chance(0.02)) lines.push("Authorization: Bearer \u00e9");
    if (this.#chance(0.05)) lines.push('If-None-Match: "x", W/"y", *');
    if (this.#chance(0.05)) lines.push(`User-Agent: ${"Mozilla/5.0 ".repeat(this.#below(20))}`);
    if (this.#chance(0.02)) lines.push("X-HTTP-Method-Override: DELETE", "Impersonate-User: x");
    const hasBody = method === "GET" || method === "HEAD" ? this.#chance(0.05) : this.#chance(0.9);
    const body = hasBody ? this.#body(collection) : Buffer.alloc(0);
    const type = this.#chance(0.7) ? "application/json" : this.#pick(CONTENT_TYPES);
    if (hasBody) lines.push(`Content-Type: ${type}`);
    const isChunked = hasBody && this.#chance(0.1);
    if (isChunked) lines.push("Transfer-Encoding: chunked");
    else if (hasBody || method !== "GET") lines.push(`Content-Length: ${body.length}`);
    const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
    return {
      bytes: Buffer.concat([head, isChunked ? toChunks(body) : body]),
      isHead: method === "HEAD",
      summary: `${lines.join(" | ").slice(0, 1_000)} || ${body.subarray(0, 500)}`,
    };
  }

  /** A request of which some bytes are changed, added or missing, or no request at all. */
  nextBroken(): Buffer {
    if (this.#chance(0.1)) return this.nextBytes(300);
    const bytes = Buffer.from(this.next().bytes);
    const changes = 1 + this.#below(4);
    for (let count = 0; count < changes; count++) {
      // Most of the grammar is in the head.
      const position = this.#below(this.#chance(0.8) ? Math.min(bytes.length, 200) : bytes.length);
      bytes[position] = this.#below(256);
    }
    return this.#chance(0.3) ? bytes.subarray(0, this.#below(bytes.length)) : bytes;
  }

  nextBytes(lengthMax: number): Buffer {
    return Buffer.from(Array.from({ length: 1 + this.#below(lengthMax) }, () => this.#below(256)));
  }

  #target(method: string, collection: string): string {
    let path = this.#chance(0.9) ? collection : this.#pick(OTHER_PATHS);
    // Mostly where the method belongs: on the collection or on an object.
    const isOnObject =
      method === "PUT" || method === "PATCH" || (method !== "POST" && this.#chance(0.5));
    if (isOnObject !== this.#chance(0.1)) path += `/${this.#pick(NAMES.slice(0, 3))}`;
    if (this.#chance(0.1)) path += `/${this.#pick(SEGMENTS)}`;
    if (this.#chance(0.1)) {
      const parts = path.slice(1).split("/");
      parts[this.#below(parts.length)] = this.#pick(SEGMENTS);
      path = `/${parts.join("/")}`;
    }
    if (!this.#chance(0.5)) return encodeTarget(path);
    const pairs = Array.from({ length: 1 + this.#below(3) }, () => {
      const key = this.#pick(QUERY_KEYS);
      const value = this.#pick(QUERY_VALUES);
      // A version of the future is waited for, and then rightly a 504.
      return `${key}=${key === "resourceVersion" && /^\d{2,}$/.test(value) ? "1" : value}`;
    });
    return encodeTarget(`${path}?${pairs.join("&")}`);
  }

  #body([, apiVersion, kind]: readonly [string, string, string]): Buffer {
    if (this.#chance(0.05)) return this.nextBytes(200);
    const isRight = this.#chance(0.8);
    const object = isRight ? this.#object(apiVersion, kind) : this.#object("v1", this.#pick(KINDS));
    if (this.#chance(0.3)) return Buffer.from(JSON.stringify(this.#mutate(object)));
    const text = JSON.stringify(object);
    if (this.#chance(0.8)) return Buffer.from(text);
    return Buffer.from(this.#breakText(text));
  }

  #object(apiVersion: string, kind: string): Record<string, unknown> {
    const name = this.#pick(this.#chance(0.7) ? NAMES.slice(0, 3) : NAMES);
    const metadata: Record<string, unknown> = { name };
    if (this.#chance(0.2)) metadata.generateName = this.#pick(NAMES);
    if (this.#chance(0.2)) metadata.namespace = this.#pick(["default", "fuzz", "other"]);
    if (this.#chance(0.2)) metadata.labels = { purpose: "fuzz", "a/b": this.#pick(NAMES) };
    if (this.#chance(0.1)) metadata.finalizers = ["example.test/x"];
    if (this.#chance(0.1)) metadata.resourceVersion = this.#pick(QUERY_VALUES);
    if (this.#chance(0.1)) metadata.uid = "5d6a8a0c-0000-4000-8000-000000000000";
    const containers = [{ name: "c", image: "i", resources: { limits: { cpu: "1" } } }];
    return {
      apiVersion,
      kind,
      metadata,
      ...(this.#chance(0.5) ? { data: { key: "dmFsdWU=" } } : {}),
      ...(this.#chance(0.3) ? { spec: { containers, ports: [{ port: 80 }], replicas: 1 } } : {}),
    };
  }

  /** Puts a random value in some place. */
  #mutate(object: Record<string, unknown>): unknown {
    const value = structuredClone(this.#pick(this.#values));
    if (this.#chance(0.1)) return value;
    let place = object;
    for (;;) {
      const keys = Object.keys(place);
      const key = keys.length === 0 || this.#chance(0.1) ? this.#pick(NAMES) : this.#pick(keys);
      const inner = Object.hasOwn(place, key) ? place[key] : undefined;
      if (typeof inner !== "object" || inner === null || this.#chance(0.4)) {
        // Not by assignment: that would set the prototype where the key is "__proto__".
        const how = { value, enumerable: true, configurable: true, writable: true };
        Object.defineProperty(place, key, how);
        return object;
      }
      place = inner as Record<string, unknown>;
    }
  }

  #breakText(text: string): string {
    const position = this.#below(text.length);
    switch (this.#below(6)) {
      case 0:
        return text.slice(0, position);
      case 1:
        return (
          text.slice(0, position) +
          this.#pick(['"', "}", "[", ",", "\\u", "\u0000"]) +
          text.slice(position)
        );
      case 2:
        return text.replace("{", '{"metadata":{"name":"other"},"kind":5,');
      case 3:
        return "[".repeat(5_000);
      case 4:
        return text.replace(/"name":"[^"]*"/, `"name":${"9".repeat(400)}`);
      default:
        return text.replace(/"name":"[^"]*"/, '"name":"\\ud800"');
    }
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#below(from.length)] as T;
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  /** mulberry32: small, fast, and the same everywhere. */
  #random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** Blanks would end the target: written as a browser would. */
function encodeTarget(target: string): string {
  return target.replaceAll(" ", "%20");
}

function toChunks(body: Buffer): Buffer {
  const half = Math.ceil(body.length / 2);
  const parts = [body.subarray(0, half), body.subarray(half)].filter((part) => part.length > 0);
  const framed = parts.flatMap((part) => [
    Buffer.from(`${part.length.toString(16)}\r\n`),
    part,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...framed, Buffer.from("0\r\n\r\n")]);
}
