/** Keys that work everywhere outside of text fields, and the dialog that lists them. */
import { useLayoutEffect, useRef } from "preact/hooks";

const LIST = [
  ["t", "find a type"],
  ["/", "filter the rows of the table"],
  ["o", "the overview"],
  ["l", "the timeline"],
  ["c", "the clients"],
  ["↑ ↓ PgUp PgDn Home End", "move in a table, ↑ ↓ in a timeline"],
  ["Enter", "open the row, or say why it was written"],
  ["Esc", "close a dialog, or why a write happened"],
  ["?", "these keys"],
] as const;

/** By key: what it does. A key that is the `data-key` of a field goes to that field. */
export function useKeys(actions: Readonly<Record<string, () => void>>): void {
  // With what is shown: whoever sees the page may press a key.
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const { key, target } = event;
      const isText = target instanceof Element && target.matches("input, textarea, select");
      if (isText || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector("dialog[open]") !== null) return;
      const field = [...document.querySelectorAll<HTMLElement>("[data-key]")].find(
        ({ dataset }) => dataset.key === key,
      );
      const action = actions[key] ?? (field && (() => field.focus()));
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}

export function Keys({ isOpen, close }: { readonly isOpen: boolean; readonly close: () => void }) {
  return (
    <Dialog isOpen={isOpen} close={close} title="Keys">
      <dl class="keys">
        {LIST.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={close}>
        Close
      </button>
    </Dialog>
  );
}

/** A modal dialog: the browser keeps the focus in it and gives it back. */
export function Dialog(props: {
  readonly isOpen: boolean;
  readonly close: () => void;
  readonly title: string;
  readonly children: preact.ComponentChildren;
}) {
  const { isOpen, close, title, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  // With what is shown: the focus is in the dialog, or back, before the next key.
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  // The browser tells of a closing later, when somebody may have opened it again already.
  const closed = () => {
    if (dialog.current?.open !== true) close();
  };
  const pressed = ({ key }: KeyboardEvent) => {
    if (key === "Escape") close();
  };
  return (
    <dialog ref={dialog} aria-label={title} onClose={closed} onKeyDown={pressed}>
      {isOpen && (
        <>
          <h2>{title}</h2>
          {children}
        </>
      )}
    </dialog>
  );
}
