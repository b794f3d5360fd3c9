/** Files with several documents: cut at lines of `---`, as clients of the existing API cut them. */

/** Those that are not empty, in order. */
export function splitYamlDocuments(text: string): readonly string[] {
  return text.split(/^---[ \t]*\r?$/m).filter((document) => document.trim() !== "");
}
