/**
 * Takes the pictures of docs/use/console.md anew: `node dist/e2e/console/take-screenshots.js [FOLDER]` after a build.
 * They are of a real Chromium on an API of its own.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openConsole } from "../../server/console/run-console.js";
import { startKeelson } from "../../server/start-keelson.js";
import { HttpsClient } from "../harness/https-client.js";
import { repositoryRoot } from "../tools/find-tool.js";
import { openChromium } from "./chromium.js";
import { furnish, touch } from "./furnish.js";

const FOLDER = process.argv[2] ?? join(repositoryRoot(), "docs/use/console");
const WEB = "#/object/apps/deployments/shop/web";

/** So that something moves. */
const WRITE_EVERY_MS = 1_000;

/** Name, fragment, what the page says when it is there, and how it is looked at. */
const PICTURES = [
  ["overview", "#/", " writes/s", "light"],
  ["table", "#/table/core/pods?namespace=shop", "web-5d4f-q6t8r", "light"],
  ["writers", WEB, "shop/web:1.5", "light"],
  ["owners", `${WEB}?tab=graph`, "4 other objects", "dark"],
  ["history", `${WEB}?tab=history`, "the first one is its creation", "light"],
  ["timeline", "#/timeline", "release-bot/1.0", "light"],
  ["phone", WEB, "shop/web:1.5", "phone"],
] as const;

await using api = await startKeelson({ runsIn: "child", record: true });
const admin = new HttpsClient(api.url, api);
await furnish(admin);
const options = { kubeconfig: api.kubeconfigPath, context: undefined, server: undefined, port: 0 };
await using console = await openConsole(options, () => {});
await using browser = await openChromium();
if (browser === undefined) throw new Error("Chromium is not to be had");
const page = await browser.openPage();
await page.goTo(console.offerAddress());
await page.waitForText("Overview");
const writer = setInterval(() => void touch(admin), WRITE_EVERY_MS);
mkdirSync(FOLDER, { recursive: true });
for (const [name, fragment, text, look] of PICTURES) {
  if (look === "phone") await page.resize(390, 760, "dark");
  else await page.resize(1120, 660, look);
  await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
  if (name === "timeline") await chooseNamespace();
  await page.waitForText(text);
  await page.waitFor("nothing is still being read", "!document.body.innerText.includes('still')");
  // The timeline is of the shop.
  if (name === "overview") clearInterval(writer);
  writeFileSync(join(FOLDER, `${name}.png`), await page.screenshot());
}
await touch(admin);
admin.close();

async function chooseNamespace(): Promise<void> {
  await page.waitForText("Timeline");
  await page.press("/");
  await page.type("shop");
  await page.press("Enter");
}
