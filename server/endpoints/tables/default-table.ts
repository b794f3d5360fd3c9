/** The columns of types without their own (S1-TABLE-02, C-15). */

import type { Column, TablePrinter } from "../../kinds/table-printer.js";
import { creationTimestamp } from "../metadata-bytes.js";

const NAME: Column = {
  name: "Name",
  type: "string",
  format: "name",
  description: "Name must be unique within a namespace. It cannot be changed after creation.",
  priority: 0,
};

export const DEFAULT_TABLE: TablePrinter = {
  columns: [
    NAME,
    {
      name: "Created At",
      type: "date",
      format: "",
      description: "The time at which the server created the object, in RFC 3339 form and UTC.",
      priority: 0,
    },
  ],
  row: (object) => ({
    cells: [object.name, creationTimestamp(object)],
  }),
};
