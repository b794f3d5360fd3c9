/** The default flow schemas: a replica makes and marks them of its own accord, soon after its start. */
import { eventually } from "./eventually.js";
import type { ApiObject, HttpsClient } from "./https-client.js";

export const FLOW_SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
const DEFAULTS = 11;

/** Waits until all are there and each says that its level is. @returns their names */
export async function defaultFlowSchemas(client: HttpsClient): Promise<string[]> {
  return await eventually("the default flow schemas are made and marked", async () => {
    const { items } = await client.get(FLOW_SCHEMAS);
    // A new one has an empty status; its condition is a second write.
    const isDone = items.length === DEFAULTS && items.every((one) => danglingOf(one) === "False");
    return isDone ? items.map(({ metadata }) => metadata.name ?? "") : undefined;
  });
}

/** Whether its level is missing: "True", "False" or not yet said. */
export function danglingOf(schema: ApiObject): string | undefined {
  const status = schema.status as
    | { conditions?: readonly { type: string; status: string }[] }
    | undefined;
  return status?.conditions?.find(({ type }) => type === "Dangling")?.status;
}
