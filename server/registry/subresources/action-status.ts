/** How an action answers that has nothing to show. */
import type { Status } from "../../api/status.js";
import type { WriteResult } from "../generic/registry.js";

/** 201 with a Status: an action is a create, though nothing is stored of it. */
export function succeeded(): WriteResult {
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    code: 201,
  };
  return { status: 201, bytes: Buffer.from(`${JSON.stringify(status)}\n`) };
}
