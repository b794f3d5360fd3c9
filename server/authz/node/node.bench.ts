/**
 * The cost of the Node authorizer: `node dist/server/authz/node/node.bench.js`. 50,000 pods on 500 nodes,
 * all in one namespace; measures a pod change, a decision about a secret, and requests by users that are not
 * nodes.
 */
import { StoredObject } from "../../../storage/objects/stored-object.js";
import { createNaming } from "../../api/naming.js";
import { parseRequestInfo } from "../../request/request-info.js";
import { createUser } from "../../request/user-info.js";
import { NodeAuthorizer, type NodeView } from "./node-authorizer.js";

type Pod = NonNullable<ReturnType<ReturnType<NodeView["partition"]>["get"]>>;
type Observer = Parameters<ReturnType<NodeView["partition"]>["observe"]>[0];

const PODS = 50_000;
const NODES = 500;
const DECISIONS = 200_000;

const pods = new Map<string, Pod>();
const observers: Observer[] = [];
const view: NodeView = {
  partition: (id) => ({
    get: (path) => (id === "core/pods" ? pods.get(path) : undefined),
    observe(observer) {
      if (id === "core/pods") observers.push(observer);
    },
  }),
};
const authorizer = new NodeAuthorizer(view, createNaming("kubernetes"));

function podAt(index: number): Pod {
  const name = `p${index}`;
  const nodeName = `n${index % NODES}`;
  const env = Array.from({ length: 20 }, (_, k) => ({ name: `E${k}`, value: "v".repeat(30) }));
  const volumes = [{ name: "v", secret: { secretName: `s${index}` } }];
  const spec = { nodeName, containers: [{ name: "c", image: "i", env }], volumes };
  const metadata = { name, namespace: "default" };
  const bytes = Buffer.from(JSON.stringify({ kind: "Pod", apiVersion: "v1", metadata, spec }));
  return new StoredObject({
    path: `default/${name}`,
    namespace: "default",
    revision: 1 as Pod["revision"],
    bytes,
    bodyOffset: 0,
    labels: {},
    isTied: false,
    fields: { "spec.nodeName": nodeName },
    corruption: undefined,
  });
}

/** Prints microseconds per iteration. */
function measure(what: string, times: number, run: (index: number) => void): void {
  const start = performance.now();
  for (let index = 0; index < times; index++) run(index);
  const us = ((performance.now() - start) / times) * 1_000;
  process.stdout.write(`${what}: ${us.toFixed(2)} us\n`);
}

const made = Array.from({ length: PODS }, (_, index) => podAt(index));
for (const pod of made) pods.set(pod.path, pod);
measure("a new pod", PODS, (index) => observers[0]?.put(made[index] as Pod, undefined));
measure("a changed pod", PODS, (index) => observers[0]?.put(made[index] as Pod, made[index]));

const node = createUser({ name: "system:node:n7", groups: ["system:nodes"] });
const last = parseRequestInfo("GET", `/api/v1/namespaces/default/secrets/s${PODS - NODES + 7}`);
const none = parseRequestInfo("GET", "/api/v1/namespaces/default/secrets/none");
const ask = (user: typeof node, info: typeof last) => authorizer.authorize({ user, info });
measure("the first decision, which parses 100 pods", 1, () => void ask(node, last));
measure("a secret of the last of 100 pods", DECISIONS, () => void ask(node, last));
measure("a secret of none of 100 pods", DECISIONS, () => void ask(node, none));
const jane = createUser({ name: "jane", groups: ["people"] });
measure("a user that is no node", DECISIONS, () => void ask(jane, last));
