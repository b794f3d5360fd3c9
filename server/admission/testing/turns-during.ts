/** Rules that cost many steps, and the turns of the event loop in which they are evaluated. */
import type { AskForPermission } from "../matching/authorizer-answers.js";

const LIST = `[${Array.from({ length: 40 }, (_, at) => at).join(",")}]`;
/** Always true, for some 300,000 steps. */
export const LOOPS = `${LIST}.all(a, ${LIST}.all(b, ${LIST}.all(c, a + b + c >= 0)))`;

/** The same behind a question to the authorizer about the path. */
export function dear(path: string): string {
  return `(authorizer.path('${path}').check('get').allowed() && ${LOOPS})`;
}

/**
 * Notes in which turn each question is asked, which does not depend on how busy the machine is.
 * @returns what the run gives, and the paths in the order of their questions, with their turns
 */
export async function askedDuring<Result>(
  host: { permissions: AskForPermission },
  run: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly paths: string[]; readonly turns: Set<number> }> {
  let turn = 0;
  let counting: NodeJS.Immediate;
  const count = () => {
    turn++;
    counting = setImmediate(count);
  };
  counting = setImmediate(count);
  const paths: string[] = [];
  const turns = new Set<number>();
  host.permissions = (_user, question) => {
    paths.push(String((question as { readonly path?: string }).path));
    turns.add(turn);
    return { isAllowed: true, reason: "", error: "" };
  };
  try {
    return { result: await run(), paths, turns };
  } finally {
    clearImmediate(counting);
  }
}
