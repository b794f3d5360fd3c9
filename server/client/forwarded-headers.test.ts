import assert from "node:assert/strict";
import { test } from "node:test";
import { createUser } from "../request/user-info.js";
import { answerHeaders, forwardedHeaders, userHeaders } from "./forwarded-headers.js";

const user = createUser({
  name: "jané",
  uid: "7",
  groups: ["a", "b"],
  extra: { "example.com/scopes": ["x"] },
});
test("who asks is said in the headers of a front proxy, and nothing that the client said of it", () => {
  const pairs = forwardedHeaders({
    headers: {
      ":path": "/x",
      accept: "application/json",
      authorization: "Bearer secret",
      "x-remote-user": "root",
      "impersonate-user": "root",
      "x-forwarded-for": "10.0.0.1",
      connection: "close, x-mine",
      "x-mine": "1",
      te: "trailers",
      "set-cookie": ["a", "b"],
    },
    auditId: "id",
    remoteAddress: "10.0.0.2",
  });

  assert.deepEqual(toPairs([...pairs, ...userHeaders(user)]), [
    ["accept", "application/json"],
    ["set-cookie", "a"],
    ["set-cookie", "b"],
    ["X-Forwarded-For", "10.0.0.1, 10.0.0.2"],
    ["Audit-Id", "id"],
    ["X-Remote-User", Buffer.from("jané").toString("latin1")],
    ["X-Remote-Uid", "7"],
    ["X-Remote-Group", "a"],
    ["X-Remote-Group", "b"],
    ["X-Remote-Extra-example.com%2Fscopes", "x"],
  ]);
});

test("a header of several lines cannot be made of a name", () => {
  const evil = createUser({ name: "a\r\nX-Remote-Group: system:masters" });
  assert.equal(userHeaders(evil)[1], "aX-Remote-Group: system:masters");
});

test("of an answer, what belongs to the connection stays behind", () => {
  const raw = ["Content-Type", "a/b", "Connection", "X-Own", "X-Own", "1", "Keep-Alive", "5"];

  assert.deepEqual(answerHeaders([...raw, "Audit-Id", "theirs"].map((text) => Buffer.from(text))), [
    ["Content-Type", "a/b"],
  ]);
});

function toPairs(flat: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i] ?? "", flat[i + 1] ?? ""]);
  return pairs;
}

test("no proxied server lets web pages of others read this API: its CORS headers stay behind", () => {
  const names = ["Origin", "Credentials", "Headers", "Methods"];
  const raw = names.flatMap((name) => [`Access-Control-Allow-${name}`, "*"]);
  assert.deepEqual(answerHeaders([...raw, "X-Own", "1"]), [["X-Own", "1"]]);
});
