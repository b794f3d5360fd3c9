/** Files with several documents, split as by clients of kube-apiserver: at lines of `---`, and where an object of JSON follows another. */
import { parseJson } from "../schema/parse-json.js";

/** The documents with more than comments, in order. */
export function splitYamlDocuments(text: string): readonly string[] {
  return text
    .split(/^---[ \t]*(?:#[^\n]*)?\r?$/m)
    .flatMap((document) => (/^\s*\{/.test(document) ? splitObjects(document) : [document]))
    .filter((document) => /^[ \t]*[^ \t\r\n#]/m.test(document));
}

/** A brace may begin a line within an object, too: then what is before it is no whole one. */
function splitObjects(document: string): readonly string[] {
  const pieces = document.split(/^(?=\{)/m).filter((piece) => piece.trim() !== "");
  return pieces.length > 1 && pieces.every(isJson) ? pieces : [document];
}

function isJson(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}
