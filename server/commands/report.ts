/** What `keelson validate` has found. */

export interface Finding {
  /** "manifests/app.yaml, document 2" */
  readonly place: string;
  /** Of its file, from 1. */
  readonly line: number;
  /** "Deployment shop/web"; "" = a text that is no object. */
  readonly object: string;
  readonly level: "error" | "warning";
  readonly message: string;
}

export interface Report {
  /** All that were looked at, with their places. */
  readonly objects: readonly { readonly place: string; readonly object: string }[];
  readonly findings: readonly Finding[];
  /** How many were left out, as nobody defines their kind. */
  readonly skipped: number;
}
