/**
 * The text without the slashes at its end. Not by an expression such as /\/+$/: of a text with many slashes in its
 * middle that takes the square of their number.
 */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === "/") end--;
  return text.slice(0, end);
}
