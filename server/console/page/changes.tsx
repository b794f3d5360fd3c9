/** What differs between two versions of an object, readable without colours. */
import type { JsonObject, JsonValue } from "../../api/meta.js";
import { compareObjects } from "../../commands/compare-objects.js";
import { stringifyJson } from "../../schema/json-text.js";

const VALUE_CHARS_MAX = 400;

export function Changes(props: {
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly label: string;
}) {
  const { before, after, label } = props;
  const changes = compareObjects(before, after);
  if (changes.length === 0) return <p>Nothing differs.</p>;
  return (
    <div class="changes scroll" tabIndex={0} role="region" aria-label={label}>
      {changes.map((change) => (
        <div key={change.path} class="change">
          <div class="path">{change.path}</div>
          {change.before !== undefined && <del>- {shown(change.before)}</del>}
          {change.after !== undefined && <ins>+ {shown(change.after)}</ins>}
        </div>
      ))}
    </div>
  );
}

function shown(value: JsonValue): string {
  const text = typeof value === "string" ? value : stringifyJson(value);
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)} …` : text;
}
