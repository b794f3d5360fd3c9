/** `keelson console` in a real Chromium: its views, by keyboard alone, readable by everybody, and safe from others. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { openConsole } from "../../server/console/run-console.js";
import { eventually } from "../harness/eventually.js";
import { HttpsClient } from "../harness/https-client.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { repositoryRoot } from "../tools/find-tool.js";
import { BusyApi } from "./busy-api.js";
import type { TraceEvent } from "./chromium.js";
import { createOwnerAndOwned } from "./owner-and-owned.js";
import {
  CONFIG_MAPS,
  consoleOptions,
  findingsOf,
  shareConsole,
  show,
  tabTo,
} from "./shared-console.js";

const { theApi, theConsole, theBrowser, openPage } = shareConsole({
  record: true,
  flags: { "enable-control-planes": true },
});
/** More than the recorder takes for chance. */
const VAIN_WRITES = 40;
const FIGHT_WRITES = 8;
const RELISTS = 12;
const ROWS = 10_000;
const CHANGES_PER_SECOND = 500;
const CHANGES = 2_000;
const TASK_MS_MAX = 100;
/** Of a page, in a trace. */
const MARK = "the-console";
/** Markup and script, for every field that takes text. */
const HOSTILE = `<img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>\${globalThis.hit=1}"'>`;

test("each view shows what the server knows, and axe-core finds nothing in light and dark and on a phone", async (t) => {
  await createOwnerAndOwned(theApi().admin);
  const page = await openPage(t);
  if (page === undefined) return;
  const object = "#/object/core/configmaps/default/owner";
  const views: readonly (readonly [string, string])[] = [
    ["#/", "apiserver-"],
    ["#/table/core/configmaps", "owned"],
    [object, 'a: "2"'],
    [`${object}?tab=events`, "as it does"],
    [`${object}?tab=graph`, "1 other object\n"],
    [`${object}?tab=history`, "the first one is its creation"],
    [`${object}?tab=why`, "patch configmaps default/owner, changed: data.a"],
    [`${object}?tab=edit`, "Show what it would do"],
    ["#/timeline", "create configmaps default/owned, created"],
    ["#/clients", "The last minute"],
  ];
  for (const [fragment, text] of views) {
    await show(page, fragment);
    await page.waitForText(text.trim());
    // The list of types is the same in all of them.
    const known = fragment === "#/" ? undefined : ".groups";
    assert.deepEqual(await findingsOf(page, known), [], fragment);
    await page.resize(390, 844, "dark");
    assert.deepEqual(await findingsOf(page, known), [], `${fragment}, dark and narrow`);
    const overflow = await page.evaluate<number>(
      "document.documentElement.scrollWidth - innerWidth",
    );
    assert.ok(overflow <= 0, `${fragment} is wider than a phone by ${overflow}`);
    await page.resize(1280, 800);
  }
  await show(page, `${object}?tab=history`);
  await page.waitForText("somebody (Update)");
  await page.waitForText("data.a");
  assert.deepEqual(page.complaints, []);
});

test("the page has at most 350 KiB compressed", () => {
  const folder = join(repositoryRoot(), "dist/server/console/page");
  const files = ["index.html", "page.css", "page.js"].map((name) =>
    readFileSync(join(folder, name)),
  );
  const bytes = gzipSync(Buffer.concat(files)).length;
  assert.ok(bytes < 350 * 1024, `${bytes} bytes`);
});

test("everything is reached by keys alone: a type, a row, an edit as dry run and for good, a deletion", async (t) => {
  const { admin } = theApi();
  await admin.post(CONFIG_MAPS, { metadata: { name: "by-keys" }, data: { a: "before" } });
  const page = await openPage(t);
  if (page === undefined) return;
  const focusOn = (what: string) => tabTo(page, `innerText === ${JSON.stringify(what)}`);
  await page.press("t");
  await page.type("configmaps");
  await page.press("Enter");
  await page.waitForText("by-keys");
  await page.press("/");
  await page.type("by-keys");
  await page.waitForText("1 of ");
  await page.press("Tab");
  await page.press("ArrowDown");
  await page.press("Enter");
  await page.waitForText("a: before");
  await focusOn("Edit");
  await page.press("Enter");
  await page.waitFor("the editor", "document.querySelector('textarea') !== null");
  await tabTo(page, "tagName === 'TEXTAREA'");
  await page.evaluate(
    "document.activeElement.setSelectionRange(...((at) => [at, at + 6])(document.activeElement.value.indexOf('before')))",
  );
  await page.type("behind");
  await focusOn("Show what it would do");
  await page.press("Enter");
  await page.waitForText("+ behind");
  const stored = () =>
    admin.get(`${CONFIG_MAPS}/by-keys`).then(({ bytes }) => JSON.parse(String(bytes)));
  assert.equal((await stored()).data.a, "before");
  await page.press("Tab");
  await page.press("Enter");
  await page.waitForText("Applied.");
  assert.equal((await stored()).data.a, "behind");
  await tabTo(page, "innerText === 'Delete …'", { shift: true });
  await page.press("Enter");
  await page.waitForText("Delete ConfigMap by-keys?");
  await page.press("Escape");
  assert.equal((await stored()).kind, "ConfigMap");
  await page.press("Enter");
  await page.waitForText("Delete ConfigMap by-keys?");
  assert.deepEqual(await findingsOf(page), []);
  await focusOn("Delete");
  await page.press("Enter");
  await eventually("the object is gone", async () => (await stored()).code === 404);
});

test("the timeline tells by keys why a write happened, and clients that work in vain are named", async (t) => {
  const { api, admin } = theApi();
  const path = `${CONFIG_MAPS}/looped`;
  const made = await admin.post(CONFIG_MAPS, { metadata: { name: "looped" }, data: { a: "1" } });
  const { resourceVersion } = JSON.parse(String(made.bytes)).metadata;
  const loop = new HttpsClient(api.url, api);
  const put = (base: object) => {
    const body = { metadata: { name: "looped", ...base }, data: { a: "2" } };
    return loop.request(path, { method: "PUT", body, headers: { "user-agent": "busy-loop/1" } });
  };
  await put({ resourceVersion });
  for (let count = 0; count < VAIN_WRITES; count++) await put({});
  await admin.post(CONFIG_MAPS, { metadata: { name: "fought" }, data: { a: "0" } });
  for (let count = 0; count < FIGHT_WRITES; count++) {
    const manager = count % 2 === 0 ? "left" : "right";
    const headers = { "content-type": "application/merge-patch+json" };
    const body = { data: { a: manager } };
    await admin.request(`${CONFIG_MAPS}/fought?fieldManager=${manager}`, {
      ...{ method: "PATCH", body, headers },
    });
  }
  for (let count = 0; count < RELISTS; count++) {
    await loop.request("/api/v1/secrets", { headers: { "user-agent": "storm/1" } });
  }
  loop.close();
  const page = await openPage(t);
  if (page === undefined) return;
  await page.press("c");
  await page.waitForText("no-change");
  await page.waitForText("busy-loop/1 as ");
  await page.waitForText("change data.a of configmaps default/fought in turns");
  await page.waitForText(`began ${RELISTS} lists and 0 watches of secrets`);
  await show(page, "#/object/core/configmaps/default/looped?tab=why");
  await page.waitForText("unchanged");
  await tabTo(page, "matches('.rows button')");
  await page.press("Enter");
  await page.waitForText("Nothing was stored: unchanged");
  for (let count = 0; count < VAIN_WRITES; count++) await page.press("ArrowUp");
  await page.press("Enter");
  await page.waitForText("exact (resourceVersion)");
  assert.deepEqual(await findingsOf(page), []);
});

test("#46 the timeline draws an arrow for what led to a write: solid where it is exact, dashed where it is likely", async (t) => {
  const { admin, api } = theApi();
  const follower = new HttpsClient(api.url, api, { "user-agent": "follower/1" });
  t.after(() => follower.close());
  const watch = await follower.watch(`${CONFIG_MAPS}?watch=1`);
  const made = await admin.post(CONFIG_MAPS, { metadata: { name: "arrow" }, data: { a: "1" } });
  const { resourceVersion, uid } = JSON.parse(String(made.bytes)).metadata;
  for (let name: unknown; name !== "arrow"; ) {
    name = (await watch.next()).value?.object.metadata.name;
  }
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "arrow", uid }];
  await follower.post(CONFIG_MAPS, { metadata: { name: "arrow-child", ownerReferences } });
  const metadata = { name: "arrow", resourceVersion };
  await follower.put(`${CONFIG_MAPS}/arrow`, { metadata, data: { a: "2" } });
  const page = await openPage(t);
  if (page === undefined) return;
  await show(page, "#/timeline");
  await page.waitForText("arrow-child, created");
  for (const certainty of ["exact", "candidate"]) {
    const selector = `svg path.arrow.${certainty}`;
    await page.waitFor(selector, `document.querySelector(${JSON.stringify(selector)}) !== null`);
    const dashes = `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).strokeDasharray`;
    assert.equal((await page.evaluate<string>(dashes)) === "none", certainty === "exact");
  }
});

test("#46 a page that stays open is no hot loop itself: in a minute each view lists a type less than ten times", async (t) => {
  await createOwnerAndOwned(theApi().admin);
  const page = await openPage(t);
  if (page === undefined) return;
  // Its clock runs twenty times as fast.
  await page.evaluate(
    "void (globalThis.setTimeout = ((real) => (done, ms) => real(done, ms / 20))(setTimeout))",
  );
  const noMetrics =
    "void (globalThis.fetch = ((real) => (path, ...rest) => real(String(path).replace('/metrics', '/nothing'), ...rest))(fetch))";
  for (const [fragment, prepare, often] of [
    ["#/", "", { path: "/k8s/debug/turns", times: 13 }],
    ["#/", noMetrics, { path: "/k8s/debug/turns", times: 13 }],
    ["#/object/core/configmaps/default/owner?tab=events", "", { path: "/events?", times: 8 }],
  ] as const) {
    await show(page, "#/clients");
    await page.waitForText("The last minute");
    if (prepare !== "") await page.evaluate(prepare);
    await page.evaluate("performance.clearResourceTimings()");
    await page.evaluate("performance.setResourceTimingBufferSize(10_000)");
    await show(page, fragment);
    const asked = `performance.getEntriesByType("resource").map(({ name }) => name)`;
    const minute = `${asked}.filter((name) => name.includes(${JSON.stringify(often.path)})).length >= ${often.times}`;
    await page.waitFor("a minute of the page", minute);
    const lists = new Map<string, number>();
    for (const url of await page.evaluate<string[]>(asked)) {
      const { pathname, searchParams } = new URL(url);
      if (!/^\/k8s\/apis?\/.*s$/.test(pathname) || searchParams.has("watch")) continue;
      lists.set(pathname, (lists.get(pathname) ?? 0) + 1);
    }
    assert.ok(lists.size > 0, fragment);
    assert.deepEqual(
      [...lists].filter(([, times]) => times >= 10),
      [],
      `${fragment} ${prepare}`,
    );
  }
});

test("#46 each row of the timeline shows who wrote it, and the lanes' numbers stay, also on a phone", async (t) => {
  const { admin } = theApi();
  const data = Object.fromEntries(
    Array.from({ length: 9 }, (_, at) => [`a-field-of-many-${at}`, "1"]),
  );
  await admin.post(CONFIG_MAPS, { metadata: { name: "with-many" } });
  for (let count = 0; count < VAIN_WRITES; count++) {
    const body = { data: { ...data, "a-field-of-many-0": String(count) } };
    const path = `${CONFIG_MAPS}/with-many?fieldManager=the-writer`;
    await admin.patch(path, body);
  }
  const page = await openPage(t);
  if (page === undefined) return;
  await show(page, "#/object/core/configmaps/default/with-many?tab=why");
  await page.waitForText("by the-writer, ");
  const isInSight = (selector: string) =>
    page.evaluate<boolean>(
      `((box, one) => one.left >= box.left && one.right <= box.right + 1 && one.top >= box.top - 1 && one.bottom <= box.bottom + 1)(document.querySelector(".drawing").getBoundingClientRect(), [...document.querySelectorAll(${JSON.stringify(selector)})].at(-1).getBoundingClientRect())`,
    );
  assert.ok(await isInSight(".rows .by"), "the writer");
  assert.ok(await isInSight(".drawing svg text"), "the letters of the last row");
  assert.ok(await isInSight(".drawing .numbers"), "the numbers of the lanes");
  await page.evaluate("document.querySelector('.rows li:last-child button').click()");
  await page.waitForText("Why: patch configmaps default/with-many");
  await page.resize(390, 760);
  await page.waitFor("rows of a phone", "document.querySelector('.rows li').offsetHeight > 50");
  const last = "document.querySelector('.rows li:last-child button')";
  await page.waitFor("the row fits", `${last}.scrollHeight <= ${last}.clientHeight + 1`);
});

test("#46 why an object that is gone was written is told on the page, and each other side of it says where", async (t) => {
  const { admin } = theApi();
  await admin.post(CONFIG_MAPS, { metadata: { name: "gone" } });
  await admin.delete(`${CONFIG_MAPS}/gone`);
  const page = await openPage(t);
  if (page === undefined) return;
  await show(page, "#/object/core/configmaps/default/gone");
  await page.waitForText('configmaps "gone" not found');
  await page.waitForText("What was written of it, and by whom, is under Why");
  await show(page, "#/object/core/configmaps/default/gone?tab=why");
  await page.waitForText("delete configmaps default/gone");
  assert.deepEqual(await findingsOf(page, ".groups"), []);
});

test("#46 of a server that has nothing of Keelson's each view tells so in a sentence, and none shows an error", async (t) => {
  const browser = await theBrowser(t);
  if (browser === undefined) return;
  await using plain = new BusyApi(3);
  const options = { ...consoleOptions(theApi().api.kubeconfigPath), server: await plain.listen() };
  await using console = await openConsole(options, () => {});
  const page = await openPage(t, console);
  if (page === undefined) return;
  for (const [fragment, text] of [
    ["#/timeline", "The server keeps no record of it"],
    ["#/clients", "The server keeps no record of it"],
    ["#/", "None has announced itself"],
  ] as const) {
    await show(page, fragment);
    await page.waitForText(text);
  }
  assert.doesNotMatch(await page.evaluate<string>("document.body.innerText"), /control plane/i);
  assert.deepEqual(page.complaints, []);
});

test("a control plane is made, opened, left and suspended by keys", async (t) => {
  const page = await openPage(t);
  if (page === undefined) return;
  await page.waitForText("Control planes");
  await tabTo(page, 'placeholder === "its name"');
  await page.type("team");
  await page.press("Enter");
  await page.waitForText("Ready");
  await tabTo(page, 'ariaLabel === "Open team"', { shift: true });
  await page.press("Enter");
  await page.waitForText("In the control plane team");
  await show(page, "#/table/core/namespaces");
  await page.waitForText("default");
  await show(page, "#/");
  await tabTo(page, 'innerText === "Leave it"');
  await page.press("Enter");
  await page.waitFor("the root", "!document.body.innerText.includes('In the control plane')");
  await page.waitForText("Ready");
  await tabTo(page, 'ariaLabel === "Suspend team"');
  await page.press("Enter");
  await page.waitForText("Suspended");
  assert.deepEqual(await findingsOf(page), []);
});

test("markup in every field of an object that takes text is shown as text, in every view", async (t) => {
  const { admin } = theApi();
  const labels = { "example.com/x": "y" };
  const made = await admin.post(`${CONFIG_MAPS}?fieldManager=${encodeURIComponent(HOSTILE)}`, {
    metadata: { name: "hostile", labels, annotations: { "example.com/a": HOSTILE } },
    data: { a: HOSTILE, b: `${HOSTILE}\n${HOSTILE}\n` },
  });
  const { uid } = JSON.parse(String(made.bytes)).metadata;
  await admin.post("/api/v1/namespaces/default/events", {
    metadata: { name: "hostile" },
    involvedObject: { kind: HOSTILE, namespace: "default", name: HOSTILE, uid },
    reason: HOSTILE,
    message: HOSTILE,
    type: "Normal",
    source: { component: HOSTILE },
  });
  const page = await openPage(t);
  if (page === undefined) return;
  for (const tab of ["yaml", "events", "history", "edit", "graph", "why"]) {
    await show(page, `#/object/core/configmaps/default/hostile?tab=${tab}`);
    if (["yaml", "events", "history"].includes(tab)) await page.waitForText("<img src=x onerror=");
    if (tab === "edit")
      await page.waitFor("the editor", "document.querySelector('textarea') !== null");
    assert.equal(await page.evaluate("document.images.length + document.scripts.length"), 1, tab);
  }
  await show(page, "#/table/core/events");
  await page.waitForText("<img src=x onerror=");
  assert.equal(await page.evaluate("globalThis.hit"), undefined);
  await assert.rejects(page.evaluate("document.body.innerHTML = '<b>x</b>'"), /TrustedHTML/);
});

test("a page of another origin learns nothing and changes nothing, also by a name that leads to loopback", async (t) => {
  const browser = await theBrowser(t);
  if (browser === undefined) return;
  const address = new URL((await theConsole()).offerAddress());
  const code = new URLSearchParams(address.hash.slice(1)).get("code");
  const stranger = createServer((_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(
      `<iframe src="${address.origin}/"></iframe><script src="${address.origin}/page.js"></script>`,
    );
  });
  await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve));
  t.after(() => stranger.close());
  const other = await browser.openPage();
  t.after(() => other.close());
  await other.goTo(`http://127.0.0.1:${(stranger.address() as AddressInfo).port}/`);
  const tried = (path: string, init: string) =>
    other.evaluate<string>(
      `fetch(${JSON.stringify(address.origin + path)}, ${init}).then((a) => "read " + a.type, (e) => e.name)`,
    );
  assert.equal(await tried("/", "{}"), "TypeError");
  assert.equal(
    await tried("/session", `{ method: "POST", body: ${JSON.stringify(code)} }`),
    "TypeError",
  );
  assert.equal(await tried("/k8s/api", `{ headers: { "x-keelson-key": "x" } }`), "TypeError");
  assert.equal(
    await tried("/session", `{ method: "POST", mode: "no-cors", body: ${JSON.stringify(code)} }`),
    "TypeError",
  );
  await eventually("the frame was refused", async () => {
    return (await other.evaluate("frames[0].length === 0")) && other.complaints.length > 0;
  });
  // None of it has used the code up.
  const own = await browser.openPage();
  t.after(() => own.close());
  await own.goTo(address.href);
  await own.waitForText("Overview");
  assert.equal(await own.evaluate("location.href"), `${address.origin}/#/`);
  assert.equal(
    await own.evaluate("document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })"),
    "{}",
  );
  // Reloading loses the key, and the address was used.
  await own.goTo("about:blank");
  await own.goTo(address.href);
  await own.waitForText("this address was used before");
});

test("credentials that end are told at once, and the page goes on with new ones", async (t) => {
  const { api, admin } = theApi();
  const browser = await theBrowser(t);
  if (browser === undefined) return;
  await using folder = await makeTempDir("console");
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  const issue = async (name: string) => {
    await admin.post(accounts, { metadata: { name } });
    const answer = await admin.post(`${accounts}/${name}/token`, { spec: {} });
    await folder.write("token", JSON.parse(String(answer.bytes)).status.token);
  };
  await issue("first");
  const user = { name: "u", user: { tokenFile: "token" } };
  const cluster = {
    server: api.url,
    "certificate-authority-data": Buffer.from(api.ca).toString("base64"),
  };
  const context = { name: "c", context: { cluster: "c", user: "u" } };
  const config = { clusters: [{ name: "c", cluster }], users: [user], contexts: [context] };
  const kubeconfig = await folder.write(
    "kubeconfig",
    JSON.stringify({ ...config, "current-context": "c" }),
  );
  await using console = await openConsole(consoleOptions(kubeconfig), () => {});
  const page = await openPage(t, console);
  if (page === undefined) return;
  await show(page, "#/table/core/configmaps");
  await page.waitForText("cannot list resource");
  await admin.delete(`${accounts}/first`);
  await show(page, "#/table/core/secrets");
  await page.waitForText("does not take the credentials");
  await issue("second");
  await eventually("the banner goes", async () => {
    await page.evaluate("document.querySelector('.banner button')?.click()");
    return await page.evaluate("document.querySelector('.banner').hidden");
  });
  await page.waitForText("cannot list resource");
});

test("ten thousand rows with 500 changes a second take no task of the page's thread over 100 ms of CPU", async (t) => {
  const browser = await theBrowser(t);
  if (browser === undefined) return;
  await using busy = new BusyApi(ROWS);
  const server = await busy.listen();
  const options = { ...consoleOptions(theApi().api.kubeconfigPath), server };
  await using console = await openConsole(options, () => {});
  const page = await openPage(t, console);
  if (page === undefined) return;
  const scroll = (to: string) => page.evaluate(`document.querySelector(".grid").scrollTop = ${to}`);
  const events = await browser.trace(async () => {
    await page.evaluate(`performance.mark("${MARK}") && undefined`);
    await show(page, "#/table/core/configmaps");
    await page.waitForText("10,000 objects, live");
    const changing = busy.change(CHANGES, CHANGES_PER_SECOND);
    for (let steps = 1; steps <= 20; steps++) await scroll(String(steps * 5000));
    await scroll("0");
    await changing;
    busy.changeFirst("the last one");
    await page.waitForText("the last one");
    assert.ok(await page.evaluate<boolean>("document.querySelectorAll('.grid .row').length < 120"));
  });
  const tasks = tasksOfPage(events);
  assert.ok(tasks.length > 100, `${tasks.length} tasks`);
  // A clock would count what else the machine does as well.
  const cpuMs = tasks.flatMap(({ tdur }) => (tdur === undefined ? [] : [tdur / 1000]));
  // One that the end of the trace has cut has no time.
  assert.ok(cpuMs.length > tasks.length / 2, "the machine counts the CPU of threads");
  const longestMs = Math.max(...cpuMs);
  const sumMs = cpuMs.reduce((sum, ms) => sum + ms, 0);
  t.diagnostic(
    `${tasks.length} tasks, ${sumMs.toFixed()} ms, the longest ${longestMs.toFixed(1)} ms`,
  );
  assert.ok(longestMs < TASK_MS_MAX, `a task of ${longestMs} ms`);
});

/** Those of the process in which the page has left a mark: Chromium has pages of its own. */
function tasksOfPage(events: readonly TraceEvent[]): readonly TraceEvent[] {
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const marked = new Set(events.filter(({ name }) => name === MARK).map(threadOf));
  return events.filter((event) => event.name.endsWith("RunTask") && marked.has(threadOf(event)));
}
