/** What `keelson why` and `keelson blame` print of records and objects that somebody wrote to deceive the reader. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Blame, Explanation, Loops } from "../recorder/record-types.js";
import { formatBlame, formatExplanation, formatLoops } from "./format-why.js";

/** Clears the screen, begins a line, a control character of eight bits, and writing from right to left. */
const HOSTILE = "\u001b[2J\nforged\r\u009b31m\u202e";
const FORGING = /(?!\n)[\p{Cc}\u202a-\u202e]/u;

test("#46 no user, program, manager, name, path or value can move the cursor of a terminal or begin a line", () => {
  const loops: Loops = {
    ...{ kind: "Loops", replica: "", hidden: 0 },
    replicas: [{ address: HOSTILE, isAsked: false, problem: HOSTILE }],
    loops: [
      {
        ...{
          type: "fight",
          clients: [],
          group: "",
          resource: "configmaps",
          namespace: "",
          name: "",
        },
        ...{ path: "", count: 6, perSecond: 1, fromTime: "", toTime: "", message: HOSTILE },
      },
    ],
  } as never;
  const explanation: Explanation = {
    ...{ kind: "Explanation", replicas: [], hidden: 0, end: "outer" },
    clients: [{ id: "c", user: HOSTILE, agent: HOSTILE, address: HOSTILE }],
    writes: ["a", "b"].map((id) => ({
      ...{ id, client: "c", revision: id, time: HOSTILE, verb: HOSTILE, resource: HOSTILE },
      ...{ subresource: HOSTILE, namespace: HOSTILE, name: HOSTILE, fieldManager: HOSTILE },
      ...{ outcome: "changed", changedPaths: [HOSTILE], causes: [{ by: HOSTILE, name: HOSTILE }] },
    })),
    steps: [
      {
        write: "a",
        exact: [],
        followed: "b",
        candidates: [
          {
            write: "a",
            to: "b",
            certainty: "candidate",
            rank: 1,
            by: "",
            reasons: [HOSTILE],
            revision: "b",
          },
        ],
      },
      { write: "b", exact: [], candidates: [], followed: "" },
    ],
  } as never;
  const found: Blame = {
    ...{ kind: "Blame", replicas: [], object: { data: { a: HOSTILE } } },
    fields: [
      { path: "data.a", manager: HOSTILE, user: "", time: HOSTILE, revision: "1", how: "recorded" },
    ],
  } as never;
  for (const text of [formatLoops(loops), formatExplanation(explanation), formatBlame(found)]) {
    assert.doesNotMatch(text, FORGING);
    assert.doesNotMatch(text, /^forged/m);
    assert.match(text, /\\u001b\[2J/);
  }
});

test("#46 the chain in short tells a pod that was bound from one that was made", () => {
  const write = {
    ...{ client: "", time: "", fieldManager: "", outcome: "changed", changedPaths: [] },
  };
  const bound = { ...write, verb: "create", resource: "pods", subresource: "binding" };
  const explanation: Explanation = {
    ...{ kind: "Explanation", replicas: [], clients: [], hidden: 0, end: "outer" },
    writes: ["7", "5"].map((id) => ({
      ...{ ...bound, ...(id === "5" && { subresource: "" }) },
      ...{ id, revision: id, namespace: "shop", name: "web", causes: [] },
    })),
    steps: [
      { write: "7", exact: [], candidates: [], followed: "5" },
      { write: "5", exact: [], candidates: [], followed: "" },
    ],
  } as never;
  const [, short = ""] = formatExplanation(explanation).split("In short");
  assert.match(short, /7 +create pods\/binding shop\/web/);
  assert.match(short, /5 +create pods shop\/web/);
});
