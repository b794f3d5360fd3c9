import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditEvent } from "./audit-event.js";
import { legacyLine } from "./legacy-line.js";

const EMPTY: AuditEvent = {
  kind: "Event",
  apiVersion: "audit.k8s.io/v1",
  level: "Metadata",
  auditID: "0a1b",
  stage: "RequestReceived",
  requestURI: "",
  verb: "",
  user: {},
  sourceIPs: [],
  requestReceivedTimestamp: "2030-01-02T03:04:05.000000Z",
  stageTimestamp: "2030-01-02T03:04:05.000001Z",
};

/** The cases of kube-apiserver's own test, then what its formatting rules imply. */
const CASES: readonly (readonly [what: string, event: Partial<AuditEvent>, line: string])[] = [
  [
    "what is not known has a word in its place",
    {},
    '2030-01-02T03:04:05Z AUDIT: id="0a1b" stage="RequestReceived" ip="<unknown>" method="" user="<none>" groups="<none>" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="" response="<deferred>"',
  ],
  [
    "groups are quoted, and their quotes once more",
    {
      stage: "ResponseComplete",
      responseStatus: { metadata: {}, code: 200 },
      requestURI: "/apis/rbac.authorization.k8s.io/v1/roles",
      sourceIPs: ["127.0.0.1", "10.0.0.1"],
      verb: "get",
      user: { username: "admin", groups: ["system:masters", "system:authenticated"] },
      userAgent: "kube-admin",
      objectRef: { namespace: "default" },
      requestReceivedTimestamp: "2030-01-02T03:04:05.120300Z",
    },
    String.raw`2030-01-02T03:04:05.1203Z AUDIT: id="0a1b" stage="ResponseComplete" ip="127.0.0.1" method="get" user="admin" groups="\"system:masters\",\"system:authenticated\"" as="<self>" asgroups="<lookup>" user-agent="kube-admin" namespace="default" uri="/apis/rbac.authorization.k8s.io/v1/roles" response="200"`,
  ],
  [
    "an object without a namespace, a user without groups",
    { objectRef: { resource: "nodes" }, user: { username: "jane", groups: [] } },
    '2030-01-02T03:04:05Z AUDIT: id="0a1b" stage="RequestReceived" ip="<unknown>" method="" user="jane" groups="<none>" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="" response="<deferred>"',
  ],
  [
    "as whom",
    {
      user: { username: "jane", groups: ["dev"] },
      impersonatedUser: { username: "john", groups: ["ops", "system:authenticated"] },
    },
    String.raw`2030-01-02T03:04:05Z AUDIT: id="0a1b" stage="RequestReceived" ip="<unknown>" method="" user="jane" groups="\"dev\"" as="john" asgroups="\"ops\",\"system:authenticated\"" user-agent="" namespace="<none>" uri="" response="<deferred>"`,
  ],
  [
    "nothing that a client sends breaks the line or the terminal that shows it",
    { userAgent: 'a"b\\c\nd\t\u001b[31m\u007f\u2028é\u00a0😀\u{e0001}', requestURI: "/a?b=<c>&d" },
    String.raw`2030-01-02T03:04:05Z AUDIT: id="0a1b" stage="RequestReceived" ip="<unknown>" method="" user="<none>" groups="<none>" as="<self>" asgroups="<lookup>" user-agent="a\"b\\c\nd\t\x1b[31m\x7f\u2028é\u00a0😀\U000e0001" namespace="<none>" uri="/a?b=<c>&d" response="<deferred>"`,
  ],
];

for (const [what, event, line] of CASES) {
  test(`S2-REQ-09: a line of the legacy format: ${what}`, () => {
    assert.equal(legacyLine({ ...EMPTY, ...event }), line);
  });
}
