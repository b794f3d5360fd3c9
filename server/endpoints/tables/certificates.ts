/** Columns of the certificates group. */
import type { Tables } from "../../kinds/table-printer.js";
import {
  AGE,
  at,
  type Fields,
  fields,
  humanDuration,
  labelsText,
  list,
  NAME,
  orNone,
  specText,
  table,
  text,
  textColumn,
} from "./cells.js";

export const CERTIFICATES_TABLES: Tables = {
  "certificates/certificatesigningrequests": table(
    NAME,
    AGE,
    textColumn("SignerName", (object) => orNone(text(object, "spec", "signerName"))),
    specText("Requestor", "username"),
    textColumn("RequestedDuration", (object) => {
      const seconds = at(object, "spec", "expirationSeconds");
      return typeof seconds === "number" ? humanDuration(seconds * 1_000) : "<none>";
    }),
    textColumn("Condition", requestCondition),
  ),
  "certificates/clustertrustbundles": table(
    NAME,
    textColumn("SignerName", (object) => orNone(text(object, "spec", "signerName"))),
  ),
  "certificates/podcertificaterequests": table(
    NAME,
    specText("PodName", "podName"),
    specText("ServiceAccountName", "serviceAccountName"),
    specText("NodeName", "nodeName"),
    specText("SignerName", "signerName"),
    textColumn("State", podRequestState),
    textColumn("UnverifiedUserAnnotations", (object) =>
      labelsText(fields(object, "spec", "unverifiedUserAnnotations")),
    ),
  ),
};

/** The three ends exclude each other. */
function podRequestState(request: Fields): string {
  const types = list(request, "status", "conditions").map((condition) => text(condition, "type"));
  return types.findLast((type) => ["Issued", "Denied", "Failed"].includes(type)) ?? "Pending";
}

function requestCondition(request: Fields): string {
  const types = new Set(
    list(request, "status", "conditions").map((condition) => text(condition, "type")),
  );
  let status = types.has("Approved") ? "Approved" : "Pending";
  if (types.has("Denied")) status = "Denied";
  if (types.has("Failed")) status += ",Failed";
  if (text(request, "status", "certificate") !== "") status += ",Issued";
  return status;
}
