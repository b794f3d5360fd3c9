/** Files with several documents, split as by clients of kube-apiserver: at lines of `---`, and where an object of JSON follows another. */
import { parseJson } from "../schema/parse-json.js";

/** The documents with more than comments, in order. */
export function splitYamlDocuments(text: string): readonly string[] {
  return text
    .split(/^---[ \t]*(?:#[^\n]*)?\r?$/m)
    .flatMap((document) => (/^\s*\{/.test(document) ? splitObjects(document) : [document]))
    .filter((document) => /^[ \t]*[^ \t\r\n#]/m.test(document));
}

/** Braces of YAML, whose texts may be without quotes, can be others: then what ends with one is no whole object. */
function splitObjects(document: string): readonly string[] {
  const pieces: string[] = [];
  let [begin, depth, isText] = [0, 0, false];
  for (const { 0: token, index } of document.matchAll(/\\.|["{}]/gs)) {
    if (token === '"') isText = !isText;
    else if (isText) continue;
    else if (token === "{") depth++;
    else if (token === "}" && --depth === 0) {
      pieces.push(document.slice(begin, index + 1));
      begin = index + 1;
    }
  }
  const rest = document.slice(begin);
  if (rest.trim() !== "") pieces.push(rest);
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
