/** An object as YAML; each line with the writer of its field, by a letter, a name and a colour. */
import type { JsonObject } from "../../api/meta.js";
import { membersOf } from "../model/members.js";
import { writersOf } from "../model/writers.js";
import { toYamlLines } from "../model/yaml-lines.js";
import { formatAge } from "./words.js";

/** As page.css has them; further writers begin again with the first. */
const COLOURS = 8;

export function YamlTab({ object }: { readonly object: JsonObject }) {
  const { writers, byPath } = writersOf(object);
  const nowMs = Date.now();
  return (
    <section aria-label="YAML">
      {writers.length > 0 && (
        <ul class="writers" aria-label="Writers">
          {writers.map(({ manager, operation, subresource, time }, at) => (
            <li key={`${at}`} class={`writer-${at % COLOURS}`}>
              <b>{letterOf(at)}</b> {manager} ({operation}
              {subresource !== "" && ` of ${subresource}`}
              {time !== "" && `, ${formatAge(Date.parse(time), nowMs)} ago`})
            </li>
          ))}
        </ul>
      )}
      <div class="yaml scroll" tabIndex={0} role="region" aria-label="YAML of the object">
        {toYamlLines(withoutManagedFields(object)).map(({ text, path }, line) => {
          const [first, ...others] = byPath.get(path) ?? [];
          const names = [first, ...others].flatMap((at) =>
            at === undefined ? [] : (writers[at]?.manager ?? []),
          );
          return (
            <div
              key={`${line}`}
              class={first === undefined ? "line" : `line writer-${first % COLOURS}`}
              title={first === undefined ? path : `${path}: ${names.join(", ")}`}
            >
              <span class="who">
                {first === undefined ? "" : [first, ...others].map(letterOf).join("")}
              </span>
              <code>{text}</code>
            </div>
          );
        })}
      </div>
    </section>
  );
}

export function withoutManagedFields(object: JsonObject): JsonObject {
  const { managedFields: _, ...metadata } = membersOf(object.metadata) ?? {};
  return { ...object, metadata };
}

function letterOf(at: number): string {
  return String.fromCharCode(65 + (at % 26));
}
