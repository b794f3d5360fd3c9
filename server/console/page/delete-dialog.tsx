/** Asks before an object is deleted: this very object, not another one of its name. */
import { useState } from "preact/hooks";
import { membersOf, textOf } from "../model/members.js";
import { Dialog } from "./keys.js";
import { type Shown, tableOf } from "./ui.js";

const POLICIES = [
  ["Background", "what it owns goes after it"],
  ["Foreground", "what it owns goes before it"],
  ["Orphan", "what it owns stays"],
] as const;

export function DeleteDialog(props: {
  readonly shown: Shown;
  readonly isOpen: boolean;
  readonly close: () => void;
}) {
  const { shown, isOpen, close } = props;
  const { ui, type, path, object } = shown;
  const metadata = membersOf(object.metadata);
  const [policy, setPolicy] = useState<string>("Background");
  const [problem, setProblem] = useState("");
  const remove = async () => {
    const preconditions = { uid: textOf(metadata?.uid) };
    const body = JSON.stringify({
      kind: "DeleteOptions",
      apiVersion: "v1",
      preconditions,
      propagationPolicy: policy,
    });
    try {
      const asked = { method: "DELETE", contentType: "application/json", body };
      await ui.api.ask(path, new AbortController().signal, asked);
      close();
      ui.go(tableOf(type));
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <Dialog isOpen={isOpen} close={close} title={`Delete ${type.kind} ${textOf(metadata?.name)}?`}>
      <p>This cannot be taken back.</p>
      <label>
        Objects that it owns{" "}
        <select value={policy} onChange={({ currentTarget }) => setPolicy(currentTarget.value)}>
          {POLICIES.map(([name, what]) => (
            <option key={name} value={name}>
              {name}: {what}
            </option>
          ))}
        </select>
      </label>
      <p role="status">{problem}</p>
      <p class="buttons">
        <button type="button" onClick={close}>
          Keep it
        </button>
        <button type="button" class="danger" onClick={() => void remove()}>
          Delete
        </button>
      </p>
    </Dialog>
  );
}
