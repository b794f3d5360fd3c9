/** Which flow schema a request belongs to; flow-control.test.ts covers what follows from it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseRequestInfo, type RequestInfo } from "../request/request-info.js";
import { createUser } from "../request/user-info.js";
import { Classifier } from "./classify.js";
import { type SchemaSetting, toSchemaSetting } from "./settings.js";

const USER = createUser({ name: "ann", groups: ["people"] });
const VALUES = { verbs: ["get", "list"], groups: ["", "apps"], resources: ["pods", "nodes"] };
const REQUESTS = [
  "/api/v1/namespaces/shop/pods/web",
  "/api/v1/namespaces/shop/pods",
  "/api/v1/nodes/n-1",
  "/api/v1/pods",
  "/apis/apps/v1/namespaces/shop/pods/web",
  "/healthz",
].map((path) => parseRequestInfo("GET", path));

const some = (values: readonly string[]) => fc.constantFrom(["*"], ...values.map((one) => [one]));
const rule = fc.record({
  verbs: some(VALUES.verbs),
  apiGroups: some(VALUES.groups),
  resources: some(VALUES.resources),
  namespaces: fc.constantFrom(["*"], ["shop"], ["other"], []),
  clusterScope: fc.boolean(),
});
const schema = fc.record({
  precedence: fc.nat({ max: 5 }),
  rules: fc.array(rule, { maxLength: 3 }),
});

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly namespaces: readonly string[];
  readonly clusterScope: boolean;
}

/** The rule by itself, read as the API describes it. */
function takes(one: Rule, info: RequestInfo): boolean {
  const has = (values: readonly string[], value: string) =>
    values.includes("*") || values.includes(value);
  if (!info.isResourceRequest) return false;
  if (!has(one.verbs, info.verb) || !has(one.apiGroups, info.group)) return false;
  if (!has(one.resources, info.resource)) return false;
  return info.namespace === "" ? one.clusterScope : has(one.namespaces, info.namespace);
}

function toSetting(
  name: string,
  precedence: number,
  resourceRules: readonly Rule[],
): SchemaSetting {
  const subjects = [{ kind: "Group", group: { name: "people" } }];
  const spec = { matchingPrecedence: precedence, rules: [{ subjects, resourceRules }] };
  return toSchemaSetting({ kind: "FlowSchema", apiVersion: "v1", metadata: { name }, spec });
}

test("A23: a rule for a path covers what is below it, with or without a star", () => {
  const kinds = (nonResourceURLs: string[]) => {
    const subjects = [{ kind: "Group", group: { name: "people" } }];
    const rules = [{ subjects, nonResourceRules: [{ verbs: ["*"], nonResourceURLs }] }];
    const spec = { matchingPrecedence: 1, rules };
    const metadata = { name: "paths" };
    const setting = toSchemaSetting({ kind: "FlowSchema", apiVersion: "v1", metadata, spec });
    const classifier = new Classifier([setting]);
    return ["/livez", "/livez/ping", "/livezz", "/healthz"].filter(
      (path) => classifier.classify(USER, parseRequestInfo("GET", path)) !== undefined,
    );
  };
  assert.deepEqual(kinds(["/livez"]), ["/livez", "/livez/ping"]);
  assert.deepEqual(kinds(["/livez/"]), ["/livez/ping"]);
  assert.deepEqual(kinds(["/livez/*"]), ["/livez/ping"]);
});

test("a request belongs to the first schema by precedence, then by name, of which a rule takes it", () => {
  fc.assert(
    fc.property(fc.array(schema, { maxLength: 6 }), (schemas) => {
      const all = schemas.map((one, index) => ({ ...one, name: `s-${index}` }));
      const settings = all.map((one) => toSetting(one.name, one.precedence, one.rules));
      const classifier = new Classifier(settings);
      const inOrder = [...all].sort(
        (a, b) => a.precedence - b.precedence || (a.name < b.name ? -1 : 1),
      );
      for (const info of REQUESTS) {
        const expected = inOrder.find(({ rules }) => rules.some((one) => takes(one, info)));
        assert.equal(classifier.classify(USER, info)?.name, expected?.name, info.path);
      }
    }),
  );
});
