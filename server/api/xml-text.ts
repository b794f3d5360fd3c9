/** Text in XML: escaped, and without what XML 1.0 cannot have. */

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** For text and for attributes in double quotes. */
export function xmlText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 cannot have them
  const shown = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
  return shown.toWellFormed().replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
