/** Discovery in YAML and Protobuf: the same documents, chosen by the Accept header. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import type { JsonObject } from "../../api/meta.js";
import { StatusError } from "../../api/status.js";
import { createProtobufCodecs } from "../../codec/protobuf.js";
import { decodeEnvelope } from "../../codec/protobuf-envelope.js";
import { API_RELEASE } from "../../schema/lifecycle.js";
import { servedByDefault } from "../testing/served-by-default.js";
import { createDiscovery, type Discovery } from "./discovery.js";
import { gatherBody } from "./document.js";

const PROTOBUF = "application/vnd.kubernetes.protobuf";
const YAML = "application/yaml";
const PATHS = [
  ["/api", "APIVersions"],
  ["/apis", "APIGroupList"],
  ["/apis/apps", "APIGroup"],
  ["/apis/apps/v1", "APIResourceList"],
  ["/api/v1", "APIResourceList"],
] as const;

const served = servedByDefault();

function open(): Discovery {
  return createDiscovery({
    releases: { emulated: API_RELEASE, minCompatibility: API_RELEASE },
    ...served,
    build: { version: "0.1.0", commit: "", buildDate: "" },
    serverAddress: () => "127.0.0.1:6443",
    otherPaths: [],
  });
}

async function bodyOf(discovery: Discovery, path: string, accept: string, contentType = accept) {
  const answer = await discovery.handle(path, { accept });
  assert.equal(answer?.headers["Content-Type"], contentType, path);
  assert.ok(answer);
  return await gatherBody(answer.body);
}

async function jsonOf(discovery: Discovery, path: string): Promise<JsonObject> {
  return JSON.parse((await bodyOf(discovery, path, "application/json")).toString());
}

test("S1-GEN-24, S1-NEG-02: discovery in YAML says what it says in JSON", async () => {
  const discovery = open();
  for (const [path] of PATHS) {
    const text = (await bodyOf(discovery, path, YAML)).toString();
    assert.deepEqual(parse(text), await jsonOf(discovery, path), path);
  }
});

test("S1-GEN-24, S1-PB-01: discovery in Protobuf says what it says in JSON", async () => {
  const discovery = open();
  const codecs = createProtobufCodecs(served);
  for (const [path, kind] of PATHS) {
    const body = await bodyOf(discovery, path, PROTOBUF);
    const envelope = decodeEnvelope(body, kind);
    assert.deepEqual([envelope.kind, envelope.apiVersion], [kind, "v1"], path);
    const decoded = codecs.forKind("", "v1", kind)?.decode(envelope.raw);
    const { kind: _, apiVersion: __, ...expected } = await jsonOf(discovery, path);
    assert.deepEqual(withoutEmpty(decoded), withoutEmpty(expected), path);
  }
});

test("S1-PB-02: the message of /api has the numbers of its published definition", async () => {
  const body = await bodyOf(open(), "/api", PROTOBUF);
  const cidr = Buffer.from("\x0a\x090.0.0.0/0\x12\x0e127.0.0.1:6443", "latin1");
  const expected = Buffer.concat([Buffer.from("\x0a\x02v1\x12", "latin1"), lengthOf(cidr), cidr]);
  assert.deepEqual(decodeEnvelope(body, "APIVersions").raw, expected);
});

test("S1-GEN-24: / and the version are JSON, whatever is asked", async () => {
  const discovery = open();
  for (const path of ["/", "/version"]) {
    for (const accept of [YAML, PROTOBUF, "text/html"]) {
      await bodyOf(discovery, path, accept, "application/json");
    }
  }
});

test("S1-NEG-09: quality and order choose the encoding, and JSON where any will do", async () => {
  const discovery = open();
  for (const [accept, expected] of [
    [`${PROTOBUF},application/json`, PROTOBUF],
    [`application/json;q=0.5,${YAML}`, YAML],
    ["application/*", "application/json"],
    [`${PROTOBUF};q=0,*/*;q=0.1`, "application/json"],
    // The newer form has no other encoding, so the next range applies.
    [
      `${PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json`,
      "application/json",
    ],
  ] as const) {
    await bodyOf(discovery, "/apis", accept, expected);
  }
  await assert.rejects(
    discovery.handle("/apis", { accept: "text/html" }),
    (error) =>
      error instanceof StatusError &&
      error.status.message?.endsWith(`application/json, ${YAML}, ${PROTOBUF}`) === true,
  );
});

test("C-01: with another vendor the media type is that vendor's", async () => {
  const discovery = createDiscovery({
    releases: { emulated: API_RELEASE, minCompatibility: API_RELEASE },
    ...servedByDefault("acme"),
    build: { version: "0.1.0", commit: "", buildDate: "" },
    serverAddress: () => "",
    otherPaths: [],
  });
  await bodyOf(discovery, "/apis", "application/vnd.acme.protobuf");
  await assert.rejects(discovery.handle("/apis", { accept: PROTOBUF }), { code: 406 });
});

function lengthOf(bytes: Buffer): Buffer {
  assert.ok(bytes.length < 128);
  return Buffer.from([bytes.length]);
}

/** Protobuf cannot distinguish empty from absent. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => {
    const isEmptyList = Array.isArray(member) && member.length === 0;
    return member !== null && member !== "" && !isEmptyList;
  });
  return Object.fromEntries(members.map(([key, member]) => [key, withoutEmpty(member)]));
}
