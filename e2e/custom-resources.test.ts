/**
 * A custom resource through its whole life with the real kubectl, on both stores: definition, discovery,
 * explain, columns, defaults, pruning, rules, patches, apply, subresources, deletion.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DEFINITIONS, definitionOf } from "./fixtures/definitions.js";
import { WIDGETS, widget, widgetDefinition, widgetVersion } from "./fixtures/widgets.js";
import { eventually, soon } from "./harness/eventually.js";
import { furnished } from "./harness/furnished-namespace.js";
import { Kubectl, PATIENTLY } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { openStore, STORE_NAMES_OF_SLOW_TESTS } from "./harness/stores.js";

interface Session {
  readonly kubectl: Kubectl;
  readonly server: ServerProcess;
}

const STEPS: readonly (readonly [string, (session: Session) => Promise<void>])[] = [
  ["a definition is in force as soon as it is created", define],
  ["kubectl explain knows the schema", explain],
  ["S1-TABLE-06: columns of the definition", columns],
  ["S1-FV-05: what is unknown is dropped or kept as the schema says", prune],
  ["what is wrong is refused, field by field", refuse],
  ["rules that compare with the old object", transition],
  ["S1-PATCH-06: patches, and no strategic ones", patch],
  ["S1-SSA-21, S1-SSA-22: apply by the markers of the schema", apply],
  ["scale and status are written by themselves", subresources],
  ["a status has its defaults from the start", statusDefaults],
  ["S1-PATH-15: selectable fields, in lists and watches", select],
  ["a deprecated version is warned of", deprecate],
  ["C-20: there is no Protobuf of it, which is said", represent],
  ["what was stored before is served as the definition is now", change],
  ["a definition takes its objects with it, and its watches end", remove],
];

for (const storeName of STORE_NAMES_OF_SLOW_TESTS) {
  describe(`custom resources with kubectl (${storeName})`, () => {
    test("the life of a kind", async (t) => {
      await using store = await openStore(storeName);
      await using server = await startServer({ ...store.etcd, flags: ["--run-controllers"] });
      await using kubectl = await Kubectl.open(server);
      await furnished(server.client);
      for (const [what, step] of STEPS) await t.test(what, () => step({ kubectl, server }));
      await server.stop();
    });
  });
}

const PROTOBUF = "application/vnd.kubernetes.protobuf";

const json = (object: object) => JSON.stringify(object);
const field = ({ kubectl }: Session, name: string, path: string) =>
  kubectl.ok(["get", "widget", name, "-o", `jsonpath={${path}}`]);

async function define({ kubectl }: Session): Promise<void> {
  await kubectl.ok(["create", "-f", "-"], json(widgetDefinition()));
  await kubectl.ok(["create", "-f", "-"], json(widget("first")));
  await kubectl.ok(["wait", "--for=condition=Established", `crd/${WIDGETS}`, "--timeout=0s"]);
  const listed = await kubectl.ok(["api-resources", "--api-group=example.com", "--no-headers"]);
  assert.match(listed, /^widgets +wd +example\.com\/v1 +true +Widget$/m);
  assert.match(await kubectl.ok(["get", "things", "-o", "name"]), /^widget\.example\.com\/first$/m);
}

async function explain({ kubectl }: Session): Promise<void> {
  const shown = await kubectl.ok(["explain", "wd.spec"]);
  assert.match(shown, /KIND: +Widget\nVERSION: +v1/);
  assert.match(shown, /color\t<string> -required-\n\s+enum: red, green, blue\n\s+Painted once\./);
  assert.match(await kubectl.ok(["explain", "wd"]), /A widget is a thing that has a colour\./);
}

async function columns({ kubectl }: Session): Promise<void> {
  const rows = (await kubectl.ok(["get", "wd"])).trim().split("\n");
  assert.match(rows[0] ?? "", /^NAME +COLOR +REPLICAS +READY +AGE$/);
  assert.match(rows[1] ?? "", /^first +green +1 +\d+s$/);
  assert.match(await kubectl.ok(["get", "wd", "-o", "wide"]), /READY +SETTINGS +AGE/);
}

async function prune(session: Session): Promise<void> {
  const { kubectl } = session;
  const sent = widget("pruned", { extra: 1, settings: { any: { thing: [1, null] } }, size: "25%" });
  const strict = await kubectl.fails(["create", "-f", "-"], json(sent));
  assert.match(strict, /strict decoding error: unknown field "spec\.extra"/);
  await kubectl.ok(["create", "--validate=false", "-f", "-"], json(sent));
  assert.equal(await field(session, "pruned", ".spec.extra"), "");
  assert.equal(await field(session, "pruned", ".spec.settings"), '{"any":{"thing":[1,null]}}');
}

async function refuse({ kubectl }: Session): Promise<void> {
  const wrong = widget("wrong", { color: "pink", replicas: "many", tags: ["a", "a"] });
  const said = await kubectl.fails(["create", "--validate=false", "-f", "-"], json(wrong));
  for (const line of [
    '* spec.color: Unsupported value: "pink": supported values: "red", "green", "blue"',
    '* spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
    '* spec.tags[1]: Duplicate value: "a"',
    "* <nil>: Invalid value: null: some validation rules were not checked because the object was invalid",
  ]) {
    assert.ok(said.includes(line), `${line}\n${said}`);
  }
  const many = await kubectl.fails(
    ["create", "-f", "-"],
    json(widget("red", { color: "red", replicas: 6 })),
  );
  assert.match(many, /spec: Invalid value: too many red widgets/);
}

async function transition({ kubectl }: Session): Promise<void> {
  const said = await kubectl.fails([
    "patch",
    "wd",
    "first",
    "--type=merge",
    "-p",
    json({ spec: { color: "blue" } }),
  ]);
  assert.match(said, /spec: Invalid value: color is immutable/);
}

async function patch(session: Session): Promise<void> {
  const { kubectl } = session;
  const operations = [{ op: "add", path: "/spec/tags", value: ["x"] }];
  await kubectl.ok(["patch", "wd", "first", "--type=json", "-p", json(operations as object)]);
  assert.equal(await field(session, "first", ".spec.tags"), '["x"]');
  const said = await kubectl.fails(["patch", "wd", "first", "--type=strategic", "-p", "{}"]);
  assert.match(
    said,
    /strategic-merge-patch\+json is not supported by example\.com\/v1, Kind=Widget/,
  );
  const labels = json({ metadata: { labels: "invalid" } });
  assert.match(
    await kubectl.fails(["patch", "wd", "first", "--type=merge", "-p", labels]),
    /^The request is invalid: patch: Invalid value: "\{.*\}": json: cannot unmarshal string into Go struct field ObjectMeta\.labels of type map\[string\]string\n$/,
  );
}

async function apply(session: Session): Promise<void> {
  const { kubectl } = session;
  const applied = (ports: readonly object[], tags: readonly string[]) =>
    json(widget("applied", { ports, tags }));
  const as = (manager: string) => [
    "apply",
    "--server-side",
    `--field-manager=${manager}`,
    "-f",
    "-",
  ];
  await kubectl.ok(as("one"), applied([{ port: 80 }], ["a"]));
  await kubectl.ok(as("two"), applied([{ port: 443 }], ["b"]));
  assert.equal(
    await field(session, "applied", ".spec.ports"),
    '[{"port":80,"protocol":"TCP"},{"port":443,"protocol":"TCP"}]',
  );
  assert.equal(await field(session, "applied", ".spec.tags"), '["a","b"]');
  await kubectl.ok(as("one"), applied([], []));
  assert.equal(await field(session, "applied", ".spec.tags"), '["b"]');
  // Of client-side apply the same content is no change.
  await kubectl.ok(["apply", "-f", "-"], json(widget("local", { replicas: 2 })));
  assert.match(
    await kubectl.ok(["apply", "-f", "-"], json(widget("local", { replicas: 2 }))),
    /unchanged/,
  );
}

async function subresources(session: Session): Promise<void> {
  const { kubectl } = session;
  await kubectl.ok(["scale", "wd/first", "--replicas=3"]);
  assert.equal(await field(session, "first", ".spec.replicas"), "3");
  // The schema and its rules judge the whole object, whichever part was written.
  const tooMany = await kubectl.fails(["scale", "wd/first", "--replicas=11"]);
  assert.match(tooMany, /spec\.replicas: Invalid value: 11: .* should be less than or equal to 10/);
  const status = {
    replicas: 2,
    selector: "app=x",
    conditions: [{ type: "Ready", status: "True" }],
  };
  const body = json({ status, spec: { replicas: 9 } });
  await kubectl.ok(["patch", "wd", "first", "--subresource=status", "--type=merge", "-p", body]);
  assert.equal(await field(session, "first", ".spec.replicas"), "3");
  assert.equal(await field(session, "first", ".metadata.generation"), "3");
  await kubectl.ok([
    "patch",
    "wd",
    "first",
    "--type=merge",
    "-p",
    json({ status: { replicas: 7 } }),
  ]);
  assert.equal(await field(session, "first", ".status.replicas"), "2");
  assert.match(await kubectl.ok(["get", "wd", "first"]), /first +green +3 +True/);
  const scale = await kubectl.ok([
    "get",
    "--raw",
    "/apis/example.com/v1/namespaces/default/widgets/first/scale",
  ]);
  assert.match(scale, /"status":\{"replicas":2,"selector":"app=x"\}/);
}

async function statusDefaults({ server: { client } }: Session): Promise<void> {
  const status = {
    type: "object",
    default: { phase: "Pending" },
    properties: { phase: { type: "string" } },
  };
  const openAPIV3Schema = { type: "object", properties: { status } };
  const group = "gates.example.com";
  const definition = definitionOf(`gates.${group}`, "Gate", {
    scope: "Cluster",
    versions: [{ ...widgetVersion, ...BARE, schema: { openAPIV3Schema } }],
  });
  (await client.post(DEFINITIONS, definition)).expect(201);
  const gate = {
    apiVersion: `${group}/v1`,
    kind: "Gate",
    metadata: { name: "a" },
    status: { phase: "Sent" },
  };
  const path = `/apis/${group}/v1/gates`;
  const made = (await client.post(path, gate)).expect(201).object;
  assert.deepEqual(made.status, { phase: "Pending" });
  assert.doesNotMatch(JSON.stringify(made.metadata), /f:status/);
  const { metadata } = made;
  const changed = { ...gate, metadata: { ...metadata, labels: { a: "b" } } };
  const kept = (await client.put(`${path}/a`, changed)).expect(200).object;
  assert.deepEqual(kept.status, { phase: "Pending" });
  assert.equal(kept.metadata.generation, 1);
}

/** Without what asks for fields of the schema. */
const BARE = { selectableFields: [], additionalPrinterColumns: [], subresources: { status: {} } };

async function select({ kubectl }: Session): Promise<void> {
  const red = ["--field-selector=spec.color=red", "-o", "name"];
  assert.equal(await kubectl.ok(["get", "wd", ...red]), "");
  await using watching = kubectl.start(["get", "wd", "-w", ...red]);
  await kubectl.ok(["create", "-f", "-"], json(widget("crimson", { color: "red" })));
  await watching.waitFor(/^widget\.example\.com\/crimson$/m);
  assert.match(
    await kubectl.fails(["get", "wd", "--field-selector=spec.size=1"]),
    /field label not supported: spec\.size/,
  );
}

async function deprecate({ kubectl }: Session): Promise<void> {
  const old = { ...widgetVersion, name: "v1alpha1", storage: false, deprecated: true };
  await kubectl.ok(
    ["apply", "--server-side", "--force-conflicts", "-f", "-"],
    json(widgetDefinition([widgetVersion, old])),
  );
  const { stderr, stdout } = await kubectl.run([
    "get",
    "widgets.v1alpha1.example.com",
    "first",
    "-o",
    "yaml",
  ]);
  assert.match(
    stderr,
    /Warning: example\.com\/v1alpha1 Widget is deprecated; use example\.com\/v1 Widget/,
  );
  assert.match(stdout, /^apiVersion: example\.com\/v1alpha1$/m);
}

async function represent({ server }: Session): Promise<void> {
  const path = "/apis/example.com/v1/namespaces/default/widgets";
  const ask = (suffix: string, accept: string) => server.client.get(`${path}${suffix}`, accept);
  for (const suffix of ["/first", "", "?watch=1&timeoutSeconds=1"]) {
    const refused = (await ask(suffix, PROTOBUF)).expect(406, suffix);
    // The Status itself has a Protobuf form, and so has the metadata of a custom resource.
    const part = suffix.startsWith("?") ? ";stream=watch" : "";
    const types = ["application/json", ...(part === "" ? ["application/yaml"] : []), PROTOBUF];
    const named = types.map((type) => type + part).join(", ");
    assert.ok(refused.text.includes(`only the following media types are accepted: ${named}`));
    // A client that takes both, as client-go's do, gets the one that there is.
    const both = (await ask(suffix, `${PROTOBUF},application/json`)).expect(200, suffix);
    assert.equal(both.headers["content-type"], "application/json");
  }
  for (const method of ["GET", "PUT", "POST"]) {
    const unknown = await server.client.request(`${path}/first/log`, { method, body: "{}" });
    assert.match(unknown.expect(404, method).text, /"widgets\.example\.com \\"first\\" not found"/);
  }
  for (const method of ["POST", "PUT", "PATCH"]) {
    const headers = { "Content-Type": PROTOBUF };
    const body = Buffer.from("k8s\0");
    const place = method === "POST" ? path : `${path}/first`;
    (await server.client.request(place, { method, headers, body })).expect(415, method);
  }
}

async function change(session: Session): Promise<void> {
  const { kubectl, server } = session;
  await kubectl.ok(["create", "-f", "-"], json(widget("going", { settings: { a: 1 } })));
  // Versions that have their selectable fields in common must have the schema in common.
  const operations = [0, 1].flatMap((version) => {
    const spec = `/spec/versions/${version}/schema/openAPIV3Schema/properties/spec/properties`;
    return [
      { op: "add", path: `${spec}/flavor`, value: { type: "string", default: "plain" } },
      { op: "remove", path: `${spec}/settings` },
    ];
  });
  const patch = ["patch", "crd", WIDGETS, "--type=json", "-p", json(operations as object)];
  await kubectl.ok(patch);
  assert.equal(await field(session, "pruned", ".spec.flavor"), "plain");
  assert.equal(await field(session, "pruned", ".spec.settings"), "");
  const all = await kubectl.ok(["get", "wd", "-o", "jsonpath={.items[*].spec.flavor}"]);
  assert.match(all, /^plain( plain)+$/);
  // The store is not touched, and a write is judged and stored by what is served.
  const before = await field(session, "pruned", ".metadata.resourceVersion");
  await kubectl.ok(["label", "wd", "pruned", "seen=true"]);
  assert.notEqual(await field(session, "pruned", ".metadata.resourceVersion"), before);
  assert.equal(await field(session, "pruned", ".spec.flavor"), "plain");
  // So is what is told of one that ends, or that leaves a selector, although nobody wrote it since.
  const path =
    "/apis/example.com/v1/namespaces/default/widgets?watch=1&fieldSelector=metadata.name";
  const from = await field(session, "going", ".metadata.resourceVersion");
  const watching = await server.client.watch(`${path}%3Dgoing&resourceVersion=${from}`, soon());
  await kubectl.ok(["delete", "wd", "going"]);
  const told = await watching.next();
  assert.ok(told.done !== true && told.value.type === "DELETED");
  const { flavor, settings } = told.value.object.spec as { flavor?: string; settings?: object };
  assert.deepEqual([flavor, settings], ["plain", undefined]);
  await watching.return();
}

async function remove({ kubectl, server }: Session): Promise<void> {
  const held = widget("held");
  const withFinalizer = { ...held, metadata: { name: "held", finalizers: ["example.com/hold"] } };
  await kubectl.ok(["create", "-f", "-"], json(withFinalizer));
  const generation = ["get", "crd", WIDGETS, "-o", "jsonpath={.metadata.generation}"];
  const before = await kubectl.ok(generation);
  await kubectl.ok(["delete", "crd", WIDGETS, "--wait=false"]);
  // Of definitions, that is no change of what is wanted.
  assert.equal(await kubectl.ok(generation), before);
  await eventually("all objects but one are gone", async () => {
    return (await kubectl.ok(["get", "wd", "-o", "name"])).trim() === "widget.example.com/held";
  });
  const said = await kubectl.fails(["create", "-f", "-"], json(widget("late")));
  assert.match(said, /create not allowed while custom resource definition is terminating/);
  // By whichever verb (D12).
  const objects = "/apis/example.com/v1/namespaces/default/widgets";
  const late = json(widget("late"));
  for (const [method, path, type] of [
    ["POST", objects, "application/json"],
    ["PATCH", `${objects}/late?fieldManager=m`, "application/apply-patch+yaml"],
  ] as const) {
    const headers = { "content-type": type };
    const answer = await server.client.request(path, { method, headers, body: late });
    assert.equal(answer.expect(403).object.reason, "Forbidden");
  }
  await kubectl.ok([
    "patch",
    "wd",
    "held",
    "--type=merge",
    "-p",
    json({ metadata: { finalizers: null } }),
  ]);
  await kubectl.ok(["wait", "--for=delete", `crd/${WIDGETS}`, PATIENTLY]);
  const gone = await server.client.get("/apis/example.com/v1/namespaces/default/widgets");
  assert.equal(gone.status, 404);
  // Nothing of the old objects comes back with a new definition of the same name.
  await kubectl.ok(["create", "-f", "-"], json(widgetDefinition()));
  assert.equal(await kubectl.ok(["get", "wd", "-o", "name"]), "");
}
