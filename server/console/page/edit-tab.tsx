/**
 * A change of the object: written as YAML, shown as what the server would make of it (its dry run, with its warnings),
 * and only then made. It holds for the version that was edited: what others changed meanwhile is not overwritten.
 */
import { useState } from "preact/hooks";
import type { JsonObject } from "../../api/meta.js";
import { toYamlLines } from "../model/yaml-lines.js";
import { type Answer, ApiProblem } from "./api.js";
import { Changes } from "./changes.js";
import type { Shown } from "./ui.js";
import { withoutManagedFields } from "./yaml-tab.js";

const MANAGER = "keelson-console";
const CONFLICT = 409;

interface Preview extends Answer {
  /** What it is of: a further edit makes it void. */
  readonly text: string;
}

export function EditTab({ ui, path, object }: Shown) {
  const [base, setBase] = useState(object);
  const [text, setText] = useState(() => yamlOf(object));
  const [preview, setPreview] = useState<Preview | undefined>(undefined);
  const [outcome, setOutcome] = useState("");
  const [isBusy, setBusy] = useState(false);
  const isPreviewed = preview !== undefined && preview.text === text;
  // Buttons that cannot be pressed keep the focus: whoever works by keys stays where he was.
  const send = async (isDryRun: boolean) => {
    if (isBusy || (!isDryRun && !isPreviewed)) return;
    setBusy(true);
    setOutcome("");
    try {
      const query = new URLSearchParams({ fieldManager: MANAGER, fieldValidation: "Warn" });
      if (isDryRun) query.set("dryRun", "All");
      const asked = { method: "PUT", contentType: "application/yaml", body: text };
      const answer = await ui.api.ask(`${path}?${query}`, new AbortController().signal, asked);
      if (isDryRun) {
        setPreview({ ...answer, text });
      } else {
        start(answer.value);
        setOutcome("Applied.");
      }
    } catch (error) {
      const isConflict = error instanceof ApiProblem && error.status === CONFLICT;
      setOutcome(
        (error as Error).message + (isConflict ? " Begin again with the newest version." : ""),
      );
    } finally {
      setBusy(false);
    }
  };
  const start = (from: JsonObject) => {
    setBase(from);
    setText(yamlOf(from));
    setPreview(undefined);
    setOutcome("");
  };
  return (
    <section aria-label="Edit" class="edit">
      <label for="edited">The object as YAML</label>
      <textarea
        id="edited"
        spellcheck={false}
        rows={24}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <p class="buttons">
        <button type="button" aria-disabled={isBusy} onClick={() => void send(true)}>
          Show what it would do
        </button>
        <button
          type="button"
          aria-disabled={isBusy || !isPreviewed}
          title={isPreviewed ? undefined : "first look at what it would do"}
          onClick={() => void send(false)}
        >
          Apply
        </button>
        <button type="button" aria-disabled={isBusy} onClick={() => isBusy || start(object)}>
          Begin again with the newest version
        </button>
      </p>
      <p role="status" class="outcome">
        {outcome}
      </p>
      {isPreviewed && (
        <section aria-label="What it would do">
          <h2>What it would do</h2>
          {preview.warnings.map((warning) => (
            <p key={warning} class="warning">
              Warning: {warning}
            </p>
          ))}
          <Changes before={base} after={preview.value} label="Differences" />
        </section>
      )}
    </section>
  );
}

function yamlOf(object: JsonObject): string {
  return toYamlLines(withoutManagedFields(object))
    .map(({ text }) => `${text}\n`)
    .join("");
}
