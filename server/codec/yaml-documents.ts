/** Files with several documents: cut at lines of `---`, as clients of the existing API cut them. */

/** Those that hold more than comments, in order. */
export function splitYamlDocuments(text: string): readonly string[] {
  return text.split(/^---[ \t]*\r?$/m).filter((document) => /^[ \t]*[^ \t\r\n#]/m.test(document));
}
