/** Columns of the discovery group. */
import type { Tables } from "../../kinds/table-printer.js";
import { AGE, at, fewOrUnset, list, NAME, table, text, textColumn, texts } from "./cells.js";

export const DISCOVERY_TABLES: Tables = {
  "discovery/endpointslices": table(
    NAME,
    textColumn("AddressType", (object) => text(object, "addressType")),
    textColumn("Ports", (object) =>
      fewOrUnset(
        list(object, "ports").map((port) => String(at(port, "port") ?? at(port, "name") ?? "*")),
      ),
    ),
    textColumn("Endpoints", (object) =>
      fewOrUnset(list(object, "endpoints").flatMap((endpoint) => texts(endpoint, "addresses"))),
    ),
    AGE,
  ),
};
