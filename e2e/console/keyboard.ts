/**
 * A page by keyboard alone: Tab goes through every control that the eye sees, each says that it has the focus, and
 * Shift+Tab goes the same way back.
 */
import type { Page } from "./chromium.js";

/** A control as the page has it: what Tab stops at, and whether it can be seen there. */
export interface Stop {
  /** Of the element; the same for the same one. */
  readonly id: number;
  readonly what: string;
  /** Whether an outline, or what stands for it, tells that it has the focus. */
  readonly isMarked: boolean;
  readonly isInSight: boolean;
}

/** More than any view has. */
const TABS_MAX = 500;

/**
 * `all()` are the controls that can be seen, without those that arrows reach from another one (`tabindex=-1`); `current()` is
 * what has the focus; `start()` gives it to the first one.
 */
const HELPERS = `
globalThis.keyboard ??= (() => {
  const ids = new WeakMap();
  let last = 0;
  const idOf = (element) => ids.get(element) ?? (ids.set(element, ++last), last);
  const nameOf = (element) => element.tagName.toLowerCase() + " " +
    (element.ariaLabel || element.innerText || element.textContent || element.id || element.placeholder || "").trim().slice(0, 60);
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
  const controls = "a[href], button, input, select, textarea, summary, [tabindex]";
  return {
    all: () => [...document.querySelectorAll(controls)]
      .filter((element) => element.tabIndex >= 0 && !element.disabled && element.closest('[inert]') === null && isSeen(element))
      .map((element) => ({ id: idOf(element), what: nameOf(element) })),
    current: () => {
      const element = document.activeElement;
      if (element === null || element === document.body) return null;
      // A box of a drawing marks itself.
      const marked = element.querySelector("rect") ?? element;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const { strokeWidth } = getComputedStyle(marked);
      const box = element.getBoundingClientRect();
      const isMarked = (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || (marked !== element && parseFloat(strokeWidth) >= 3);
      const isInSight = box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth && box.width > 0;
      return { id: idOf(element), what: nameOf(element), isMarked, isInSight };
    },
    start: () => { document.activeElement?.blur(); getSelection().removeAllRanges(); document.querySelector(".skip").focus(); },
  };
})();`;

/**
 * A page asks again every few seconds, and what moved meanwhile comes and goes. `hold()` lets nothing further be asked
 * until `release()`, and resolves when what was asked before is there and shown. Watches are open all the time.
 */
const GATE = `
globalThis.gate ??= (() => {
  const ask = globalThis.fetch;
  let opened = Promise.resolve();
  let open = () => {};
  const running = new Set();
  const askWhole = async (...asked) => {
    const answer = await ask(...asked);
    return String(asked[0]).includes("watch=1") ? answer : new Response(await answer.arrayBuffer(), answer);
  };
  globalThis.fetch = async (...asked) => {
    await opened;
    const answer = askWhole(...asked);
    running.add(answer);
    return await answer.finally(() => running.delete(answer));
  };
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  return {
    async hold() {
      opened = new Promise((resolve) => (open = resolve));
      while (running.size > 0) await Promise.allSettled(running);
      for (let frames = 0; frames < 3; frames++) await frame();
    },
    release: () => open(),
  };
})();`;

/** Before the page asks for what is to be held. */
export async function putGate(page: Page): Promise<void> {
  await page.evaluate(`${GATE} undefined`);
}

export async function holdStill(page: Page): Promise<void> {
  await page.evaluate("gate.hold()");
}

export async function release(page: Page): Promise<void> {
  await page.evaluate("gate.release()");
}

/** What can be reached, of those who see. */
export async function controlsOf(page: Page): Promise<readonly Pick<Stop, "id" | "what">[]> {
  await page.evaluate(`${HELPERS} undefined`);
  return await page.evaluate("keyboard.all()");
}

export async function stopOf(page: Page): Promise<Stop | null> {
  await page.evaluate(`${HELPERS} undefined`);
  return await page.evaluate("keyboard.current()");
}

/** From the first control of the page with Tab until it leaves the page, or begins again. */
export async function walk(page: Page): Promise<readonly Stop[]> {
  await page.evaluate(`${HELPERS} undefined`);
  await page.evaluate("keyboard.start()");
  return await follow(page, {});
}

/** From where the focus is, backwards. */
export async function walkBack(page: Page): Promise<readonly Stop[]> {
  return await follow(page, { shift: true });
}

async function follow(page: Page, keys: { readonly shift?: boolean }): Promise<readonly Stop[]> {
  const stops: Stop[] = [];
  const known = new Set<number>();
  let stop = await stopOf(page);
  while (stop !== null && !known.has(stop.id) && stops.length < TABS_MAX) {
    known.add(stop.id);
    stops.push(stop);
    await page.press("Tab", keys);
    stop = await stopOf(page);
  }
  return stops;
}
