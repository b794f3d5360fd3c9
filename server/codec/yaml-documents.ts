/** Files with several documents, split at lines of `---` as by clients of kube-apiserver. */

/** The documents with more than comments, in order. */
export function splitYamlDocuments(text: string): readonly string[] {
  return text.split(/^---[ \t]*\r?$/m).filter((document) => /^[ \t]*[^ \t\r\n#]/m.test(document));
}
