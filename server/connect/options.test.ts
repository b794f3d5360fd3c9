/** Options of connections: text to objects, objects to the parameters of node agents. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "../api/status.js";
import { parseQuery } from "../request/query.js";
import { parseRequestInfo } from "../request/request-info.js";
import { logOptions, logParameters, problemsOfLogOptions } from "./log-options.js";
import {
  integer,
  portForwardOptions,
  portForwardParameters,
  streamOptions,
  streamParameters,
} from "./options.js";
import { proxiedPath } from "./proxies.js";

test("options of exec and attach become the agent's parameters", () => {
  const query = parseQuery("stdin=true&stdout=1&stderr=false&tty=0&command=sh&command=-c+a%26b");
  const options = streamOptions(query, true);
  assert.deepEqual(options, { stdin: true, stdout: true, command: ["sh", "-c a&b"] });
  assert.equal(streamParameters(options), "command=sh&command=-c+a%26b&input=1&output=1");
  const attach = streamOptions(parseQuery("container=main&command=sh&tty=true&stderr="), false);
  assert.deepEqual(attach, { stderr: true, tty: true, container: "main" });
  assert.equal(streamParameters(attach), "error=1&tty=1");
});

test("ports are numbers of 32 bits", () => {
  const options = portForwardOptions(parseQuery("ports=80&ports=443"));
  assert.deepEqual(options, { ports: [80, 443] });
  assert.equal(portForwardParameters(options), "port=80%2C443");
  assert.equal(portForwardParameters(portForwardOptions(parseQuery(""))), "");
  const refused = (text: string) => {
    try {
      integer(text, 32);
    } catch (error) {
      return error instanceof StatusError && error.code === 400 ? error.message : error;
    }
  };
  assert.equal(refused("x"), 'strconv.ParseInt: parsing "x": invalid syntax');
  assert.equal(refused("3000000000"), 'strconv.ParseInt: parsing "3000000000": value out of range');
  assert.deepEqual([integer("+7", 64), integer("-7", 64)], [7, -7]);
});

test("options of logs are checked in kube-apiserver's words, and go to the agent sorted by name", () => {
  const problems = (query: string, hasStreams = true) =>
    problemsOfLogOptions(logOptions(parseQuery(query), hasStreams)).map(
      ({ field, message }) => `${field}: ${message}`,
    );
  assert.deepEqual(problems("tailLines=0&limitBytes=1&sinceSeconds=1&stream=All"), []);
  assert.deepEqual(problems("tailLines=-1&limitBytes=0&sinceSeconds=0"), [
    "tailLines: Invalid value: -1: must be greater than or equal to 0",
    "limitBytes: Invalid value: 0: must be greater than 0",
    "sinceSeconds: Invalid value: 0: must be greater than 0",
  ]);
  assert.deepEqual(problems("sinceSeconds=5&sinceTime=2026-01-02T03:04:05Z"), [
    ": Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
  ]);
  assert.deepEqual(problems("stream=Both&tailLines=1"), [
    'stream: Unsupported value: "Both": supported values: "All", "Stderr", "Stdout"',
    ": Forbidden: `tailLines` and specific `stream` are mutually exclusive for now",
  ]);
  assert.deepEqual(problems("stream=Both", false), []);
  assert.throws(() => problems("sinceTime=yesterday"), /parsing time "yesterday"/);
  assert.throws(() => problems("tailLines=many"), /invalid syntax/);

  const query = "timestamps=true&follow&tailLines=3&previous=1&limitBytes=9&sinceSeconds=4";
  assert.equal(
    logParameters(logOptions(parseQuery(query), false), false),
    "follow=true&limitBytes=9&previous=true&sinceSeconds=4&tailLines=3&timestamps=true",
  );
  assert.equal(logParameters(logOptions(parseQuery(""), true), true), "stream=All");
});

test("the path behind a proxy has its slashes, and nothing where there is none", () => {
  const path = (rest: string) =>
    proxiedPath(parseRequestInfo("GET", `/api/v1/nodes/a/proxy${rest}`));
  assert.deepEqual(path(""), {});
  assert.deepEqual(path("/"), { path: "/" });
  assert.deepEqual(path("/a/b"), { path: "/a/b" });
  assert.deepEqual(path("/a%20b/?x=/y"), { path: "/a b/" });
});
