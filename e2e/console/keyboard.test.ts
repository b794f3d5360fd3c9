/**
 * `keelson console` by keyboard alone, control by control: Tab reaches everything that can be seen, what has the focus
 * shows it, Shift+Tab goes back, and nothing that is pressed leaves the focus nowhere.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { eventually } from "../harness/eventually.js";
import { HttpsClient } from "../harness/https-client.js";
import type { Page } from "./chromium.js";
import { controlsOf, holdStill, putGate, release, stopOf, walk, walkBack } from "./keyboard.js";
import { createOwnerAndOwned } from "./owner-and-owned.js";
import { CONFIG_MAPS, shareConsole, show, tabTo } from "./shared-console.js";

const { theApi, openPage: openEmptyPage } = shareConsole({
  record: true,
  flags: { "enable-control-planes": true },
});

const OBJECT = "#/object/core/configmaps/default/owner";
const VAIN_WRITES = 10;
/** The frame has six, and each view one of its own. */
const CONTROLS_MIN = 6;

/** View, fragment, what it says when all of it is there. */
const VIEWS = [
  ["the overview", "#/", "What is served"],
  ["a table", "#/table/core/configmaps", "owned"],
  ["YAML", OBJECT, 'a: "2"'],
  ["events", `${OBJECT}?tab=events`, "as it does"],
  ["owners", `${OBJECT}?tab=graph`, "1 other object"],
  ["history", `${OBJECT}?tab=history`, "the first one is its creation"],
  ["why", `${OBJECT}?tab=why`, "patch configmaps default/owner"],
  ["editing", `${OBJECT}?tab=edit`, "Show what it would do"],
  ["the timeline", "#/timeline", "create configmaps default/owned"],
  // Loops and the table of clients come apart.
  ["clients", "#/clients", "no-change", "Changed nothing"],
] as const;

const furnishing: { done?: Promise<void> } = {};

/** A page of an API that has something to show. */
async function openPage(t: TestContext): Promise<Page | undefined> {
  furnishing.done ??= furnish();
  await furnishing.done;
  return await openEmptyPage(t);
}

async function furnish(): Promise<void> {
  const { api, admin } = theApi();
  const ownerReferences = await createOwnerAndOwned(admin);
  const loop = new HttpsClient(api.url, api);
  for (let count = 0; count < VAIN_WRITES; count++) {
    const body = { metadata: { name: "owned", ownerReferences } };
    await loop.put(`${CONFIG_MAPS}/owned`, body);
  }
  loop.close();
}

const textOf = (page: Page) => page.evaluate<string>("document.activeElement.innerText");

test("#46 Tab reaches every control of each view, each shows that it has the focus, and Shift+Tab goes back", async (t) => {
  const page = await openPage(t);
  if (page === undefined) return;
  await putGate(page);
  for (const [name, fragment, ...texts] of VIEWS) {
    await show(page, fragment);
    for (const text of texts) await page.waitForText(text);
    await page.waitFor("it is all", "!document.body.innerText.includes('still to look through')");
    await holdStill(page);
    const stops = await walk(page);
    const reached = new Set(stops.map(({ id }) => id));
    const controls = await controlsOf(page);
    const missed = controls.filter(({ id }) => !reached.has(id));
    assert.deepEqual(missed, [], `${name}: what is seen is reached`);
    assert.ok(stops.length >= CONTROLS_MIN, `${name}: ${stops.length} controls`);
    assert.deepEqual(
      stops.filter(({ isMarked, isInSight }) => !isMarked || !isInSight),
      [],
      `${name}: what has the focus is in sight and shows it`,
    );
    // The last one has the focus again: backwards is the same way.
    await page.press("Tab", { shift: true });
    const back = await walkBack(page);
    assert.deepEqual(
      back.map(({ what }) => what),
      stops.map(({ what }) => what).reverse(),
      `${name}: backwards`,
    );
    await release(page);
    // The way through the types is the same in all views: gone once is enough.
    await page.evaluate("document.querySelector('.groups').inert = true");
  }
});

test("#46 who opens a type, a row and comes back has the focus where the eye is, never nowhere", async (t) => {
  const page = await openPage(t);
  if (page === undefined) return;
  await tabTo(page, "innerText === 'configmaps'");
  await page.press("Enter");
  await page.waitForText("owned");
  assert.equal((await stopOf(page))?.what.startsWith("main"), true, "the view has the focus");
  await tabTo(page, "matches('.grid')");
  await page.press("End");
  const chosen = "document.querySelector('.row[aria-selected=true]').innerText";
  await page.waitFor(
    "a row is chosen",
    "document.querySelector('.row[aria-selected=true]') !== null",
  );
  const row = await page.evaluate<string>(chosen);
  await page.press("Enter");
  await page.waitFor("the object", "document.querySelector('.object-view') !== null");
  await page.waitFor("the view has the focus", "document.activeElement.id === 'main'");
  await page.evaluate("history.back()");
  await page.waitFor("the table has the focus", "document.activeElement.matches('.grid')");
  await page.waitFor(
    "a row is chosen",
    "document.querySelector('.row[aria-selected=true]') !== null",
  );
  const nameIn = (cells: string) => cells.trim().split(/\s+/)[1];
  assert.equal(nameIn(await page.evaluate(chosen)), nameIn(row), "the row that was opened");
  await tabTo(page, "matches('select')", { shift: true });
  await page.press("ArrowDown");
  await page.waitFor("the namespace is chosen", "location.hash.includes('namespace=default')");
  assert.equal(await page.evaluate("document.activeElement.tagName"), "SELECT");
});

test("#46 dialogs give the focus back to what opened them, by Escape and by their buttons", async (t) => {
  const page = await openPage(t);
  if (page === undefined) return;
  await show(page, OBJECT);
  await page.waitForText('a: "2"');
  await tabTo(page, "innerText === 'Delete …'");
  for (const leave of ["Escape", "Keep it"]) {
    await page.press("Enter");
    await page.waitForText("This cannot be taken back");
    if (leave === "Escape") await page.press("Escape");
    else {
      await tabTo(page, `innerText === ${JSON.stringify(leave)}`);
      await page.press(" ");
    }
    await page.waitFor("the dialog is closed", "document.querySelector('dialog[open]') === null");
    assert.equal(await textOf(page), "Delete …", leave);
  }
  await page.press("?");
  await page.waitForText("find a type");
  await tabTo(page, "innerText === 'Close'");
  await page.press("Enter");
  await page.waitFor("the keys are closed", "document.querySelector('dialog[open]') === null");
  assert.equal(await textOf(page), "Delete …");
});

test("#46 the timeline by keys: lanes, pause, heartbeats, rows by arrows, reasons and back to the row", async (t) => {
  const page = await openPage(t);
  if (page === undefined) return;
  await page.press("l");
  await page.waitForText("create configmaps default/owned");
  await page.press("/");
  await page.type("default");
  await page.press("Enter");
  await page.waitFor(
    "another namespace is gone",
    "!document.body.innerText.includes('kube-system')",
  );
  await page.waitForText("create configmaps default/owned");
  await tabTo(page, "matches('main select')");
  await page.press("ArrowDown");
  await page.waitFor(
    "lanes are objects",
    "document.querySelector('.lanes').innerText.includes('configmaps')",
  );
  await tabTo(page, "innerText === 'Pause'");
  await page.press(" ");
  await page.waitFor("it is paused", "document.activeElement.ariaPressed === 'true'");
  await page.press(" ");
  await tabTo(page, "type === 'checkbox'");
  await page.press(" ");
  await page.waitFor("heartbeats are asked for", "document.activeElement.checked");
  await tabTo(page, "matches('.rows button')");
  const last = await textOf(page);
  await page.press("ArrowUp");
  assert.notEqual(await textOf(page), last);
  while (!(await textOf(page)).includes("patch configmaps default/owner")) {
    const before = await textOf(page);
    await page.press("ArrowUp");
    assert.notEqual(await textOf(page), before, "the row is found");
  }
  const row = await textOf(page);
  for (const leave of ["Escape", "Close"]) {
    await page.press("Enter");
    await page.waitForText("Nothing that is recorded led to it");
    if (leave === "Escape") await page.press("Escape");
    else {
      await tabTo(page, "innerText === 'Close'");
      await page.press("Enter");
    }
    await page.waitFor("the reasons are gone", "document.querySelector('.why') === null");
    assert.equal(await textOf(page), row, leave);
  }
});

test("#46 history, owners and an edit by keys keep the focus", async (t) => {
  const { admin } = theApi();
  await admin.post(CONFIG_MAPS, { metadata: { name: "edited" }, data: { a: "before" } });
  const page = await openPage(t);
  if (page === undefined) return;
  await show(page, `${OBJECT}?tab=history`);
  await page.waitForText("the first one is its creation");
  await tabTo(page, "type === 'range'");
  await page.press("ArrowLeft");
  await page.waitForText("1 of 2");
  assert.equal(await page.evaluate("document.activeElement.type"), "range");
  await show(page, `${OBJECT}?tab=graph`);
  await page.waitForText("1 other object");
  await page.waitFor("it is still", "!document.body.innerText.includes('still to look through')");
  await tabTo(
    page,
    "textContent?.includes('owned') && document.activeElement.closest('svg') !== null",
  );
  await page.press("Enter");
  await page.waitFor("the box's object", "location.hash.includes('/owned')");
  await page.waitFor("something has the focus", "document.activeElement !== document.body");
  await show(page, "#/object/core/configmaps/default/edited?tab=edit");
  await page.waitFor("the editor", "document.querySelector('textarea')?.value.includes('before')");
  await tabTo(page, "tagName === 'TEXTAREA'");
  await page.evaluate(
    "document.activeElement.setSelectionRange(...((at) => [at, at + 6])(document.activeElement.value.indexOf('before')))",
  );
  await page.type("behind");
  await page.evaluate(
    "document.activeElement.setSelectionRange(...Array(2).fill(document.activeElement.value.length))",
  );
  await page.type("nobodyKnowsIt: 1\n");
  for (const [button, text] of [
    ["Apply", "Apply"],
    ["Show what it would do", "+ behind"],
    ["Apply", "Applied."],
    ["Begin again with the newest version", "Begin again"],
  ] as const) {
    const shift = button === "Show what it would do";
    await tabTo(page, `innerText === ${JSON.stringify(button)}`, { shift });
    await page.press("Enter");
    await page.waitForText(text);
    assert.equal(await textOf(page), button, `${button} keeps the focus`);
    if (shift) await page.waitForText('Warning: unknown field "nobodyKnowsIt"');
  }
  const { bytes } = await admin.get(`${CONFIG_MAPS}/edited`);
  assert.equal(JSON.parse(String(bytes)).data.a, "behind", "applied once, behind the look at it");
});

test("#46 a control plane is made by its button, opened, left and copied, and the focus is never lost", async (t) => {
  const page = await openPage(t);
  if (page === undefined) return;
  await page.waitForText("Control planes");
  await tabTo(page, 'placeholder === "its name"');
  await page.type("by-keys");
  await tabTo(page, 'innerText === "Create"');
  await page.press(" ");
  await page.waitForText("Ready");
  assert.equal(await page.evaluate("document.activeElement.placeholder"), "its name");
  await tabTo(page, 'ariaLabel === "Open by-keys"', { shift: true });
  await page.press("Enter");
  await page.waitForText("In the control plane by-keys");
  await page.waitFor("the view has the focus", "document.activeElement.id === 'main'");
  await tabTo(page, 'innerText === "Leave it"', { shift: true });
  await page.press("Enter");
  await page.waitFor("the root", "!document.body.innerText.includes('In the control plane')");
  await page.waitFor("something has the focus", "document.activeElement !== document.body");
  await page.waitForText("Ready");
  await tabTo(page, 'placeholder === "its name"');
  await page.type("its-copy");
  await tabTo(page, "tagName === 'SELECT'");
  await page.press("ArrowDown");
  await tabTo(page, 'innerText === "Create"');
  await page.press("Enter");
  const { admin } = theApi();
  const path = "/apis/tenancy.k8s.io/v1alpha1/controlplanes/its-copy";
  const copied = await eventually("the copy is there", async () => {
    const answer = await admin.get(path);
    return answer.status === 200 ? JSON.parse(String(answer.bytes)) : undefined;
  });
  assert.deepEqual(copied.spec.cloneFrom.name, "by-keys");
});
