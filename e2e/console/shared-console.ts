/** One API, one console of its administrator and one Chromium for all tests of a file, and what they press and look at. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, type TestContext } from "node:test";
import { type Console, openConsole } from "../../server/console/run-console.js";
import type { KeelsonOptions } from "../../server/start-keelson.js";
import { shareApi } from "../fresh-api/running-api.js";
import { repositoryRoot } from "../tools/find-tool.js";
import { type Chromium, openChromium, type Page } from "./chromium.js";

export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

/** More than any view has to be reached. */
const TABS_MAX = 400;

/** Call it once, where the file begins. */
export function shareConsole(options: KeelsonOptions) {
  const theApi = shareApi(options);
  const shared: { browser?: Promise<Chromium | undefined>; console?: Promise<Console> } = {};
  after(async () => {
    await (await shared.browser)?.[Symbol.asyncDispose]();
    await (await shared.console)?.[Symbol.asyncDispose]();
  });
  /** Of the administrator. */
  const theConsole = (): Promise<Console> => {
    shared.console ??= openConsole(consoleOptions(theApi().api.kubeconfigPath), () => {});
    return shared.console;
  };
  /** Skips the test where there is none. */
  const theBrowser = async (t: TestContext): Promise<Chromium | undefined> => {
    shared.browser ??= openChromium();
    const browser = await shared.browser;
    if (browser === undefined) t.skip("Chromium is not to be had: the page was not opened");
    return browser;
  };
  /** A page of the console that has begun. */
  const openPage = async (t: TestContext, console?: Console): Promise<Page | undefined> => {
    const browser = await theBrowser(t);
    if (browser === undefined) return undefined;
    const page = await browser.openPage();
    t.after(() => page.close());
    await page.goTo((console ?? (await theConsole())).offerAddress());
    await page.waitForText("Overview");
    return page;
  };
  return { theApi, theConsole, theBrowser, openPage };
}

export function consoleOptions(kubeconfig: string) {
  return { kubeconfig, context: undefined, server: undefined, port: 0 };
}

export async function show(page: Page, fragment: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
}

/** Presses Tab until what has the focus is what is meant. @param isIt of an element */
export async function tabTo(
  page: Page,
  isIt: string,
  keys: { shift?: boolean } = {},
): Promise<void> {
  for (let presses = 0; presses < TABS_MAX; presses++) {
    await page.press("Tab", keys);
    if (await page.evaluate<boolean>(`document.activeElement?.${isIt}`)) return;
  }
  throw new Error(`${TABS_MAX} times Tab do not reach ${isIt}`);
}

const AXE = readFileSync(join(repositoryRoot(), "node_modules/axe-core/axe.min.js"), "utf8");

/**
 * What axe-core finds on the page as it is.
 * @param exclude a selector of what it need not look at again
 */
export async function findingsOf(page: Page, exclude?: string): Promise<readonly string[]> {
  await page.evaluate(`if (globalThis.axe === undefined) { ${AXE} }`);
  const context = exclude === undefined ? "document" : JSON.stringify({ exclude: [[exclude]] });
  return await page.evaluate(
    `axe.run(${context}).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html + " " + failureSummary)))`,
  );
}
