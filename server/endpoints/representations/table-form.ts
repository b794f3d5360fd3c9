/**
 * Table: rows of cells under columns, for people (S1-TABLE-01..07). tables/ has the cells of each type;
 * this file has the rest.
 */
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { Cell, TablePrinter } from "../../kinds/table-printer.js";
import { quoteString } from "../../schema/json-text.js";
import type { ChunkWriter } from "../chunk-writer.js";
import type { IncludeObject } from "../representation.js";
import { type JsonForm, listMetadata, type ServedBytes } from "./json-form.js";

const CLOSE_BRACE = 0x7d;

export interface TableFormOptions {
  readonly printer: TablePrinter;
  /** "meta.k8s.io/v1" or "meta.k8s.io/v1beta1" */
  readonly metaVersion: string;
  /** What the columns are about, where it is not the stored object: a subresource of its own shape. */
  readonly served: ServedBytes | undefined;
  /** The part of the object that rows include; undefined = none. */
  readonly included: JsonForm | undefined;
  readonly includeObject: IncludeObject;
  /** Wall clock in milliseconds. */
  now(): number;
}

export function tableForm(options: TableFormOptions): JsonForm {
  const { printer, metaVersion, included, now, served } = options;
  const head = `{"kind":"Table","apiVersion":"${metaVersion}","metadata":`;
  const columns = JSON.stringify(printer.columns);
  const putRow = (out: ChunkWriter, object: StoredObject) => {
    const { cells, conditions } = printer.row(served?.(object) ?? object, now());
    const judged = conditions === undefined ? "" : `,"conditions":${JSON.stringify(conditions)}`;
    const shown = included === undefined ? "null" : "";
    out.putText(`{"cells":${cellsText(cells)}${judged},"object":${shown}`);
    included?.put(out, object, false);
    out.putByte(CLOSE_BRACE);
  };
  return {
    id: `table/${metaVersion}/${options.includeObject}/${included?.id ?? ""}`,
    isWholeObject: false,
    isStoredForm: false,
    isTimed: true,
    put(out, object, withColumns) {
      const definitions = withColumns ? columns : "null";
      const metadata = `{"resourceVersion":"${object.revision}"}`;
      out.putText(`${head}${metadata},"columnDefinitions":${definitions},"rows":[`);
      putRow(out, object);
      out.putText("]}");
    },
    putItem: putRow,
    listHead: (metadata) =>
      `${head}${listMetadata(metadata)},"columnDefinitions":${columns},"rows":[`,
    bookmark: (metadata) =>
      JSON.stringify({
        kind: "Table",
        apiVersion: metaVersion,
        metadata: { resourceVersion: metadata.resourceVersion },
        columnDefinitions: null,
        rows: [
          {
            cells: printer.columns.map(() => ""),
            object: {
              kind: "PartialObjectMetadata",
              apiVersion: metaVersion,
              metadata,
            },
          },
        ],
      }),
  };
}

function cellsText(cells: readonly Cell[]): string {
  let text = "[";
  for (const cell of cells) {
    if (text.length > 1) text += ",";
    text += typeof cell === "string" ? quoteString(cell) : String(cell);
  }
  return `${text}]`;
}
