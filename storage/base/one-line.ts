/**
 * An error as one line, for logs about an operator's file or an outside system. The stack of such an
 * error does not help, and its causes may quote secrets of the file. Our own defects are logged as
 * errors, with their stack.
 */
export function oneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s+/g, " ").trim();
}
