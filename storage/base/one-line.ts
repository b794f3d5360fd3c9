/**
 * An error as one line, for logs of what an operator's file or an outside system got wrong: the stack
 * of such an error says nothing that helps, and its causes may quote secrets of the file. Defects of
 * ours are logged as errors, with their stack.
 */
export function oneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s+/g, " ").trim();
}
