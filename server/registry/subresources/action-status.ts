/** The answer of an action without a result. */
import type { Status } from "../../api/status.js";
import type { WriteResult } from "../registry.js";

/** 201 with a Status: an action is a create, though it stores nothing. */
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
