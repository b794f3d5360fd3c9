/** Tenants of one replica: a namespace each, a service account that may edit it, and ConfigMaps in it. */
import { grantEverybody } from "../harness/grant.js";
import type { HttpsClient } from "../harness/https-client.js";
import { configMap } from "../promises/raw-client.js";

export interface Tenant {
  readonly name: string;
  /** Path of its ConfigMaps. */
  readonly path: string;
  readonly token: string;
  readonly objects: number;
}

const OBJECT_BYTES = 1_024;
const AT_ONCE = 32;

export const nameOf = (index: number) => `item-${String(index).padStart(6, "0")}`;

export async function makeTenants(
  client: HttpsClient,
  objects: Readonly<Record<string, number>>,
): Promise<Tenant[]> {
  await grantEverybody(client, "edit");
  const tenants: Tenant[] = [];
  for (const [name, count] of Object.entries(objects)) {
    (await client.post("/api/v1/namespaces", { metadata: { name } })).expect(201);
    const accounts = `/api/v1/namespaces/${name}/serviceaccounts`;
    (await client.post(accounts, { metadata: { name: "robot" } })).expect(201);
    const made = (await client.post(`${accounts}/robot/token`, { spec: {} })).expect(201).object;
    const path = `/api/v1/namespaces/${name}/configmaps`;
    let next = 0;
    const worker = async () => {
      while (next < count) {
        const body = configMap(nameOf(next++), OBJECT_BYTES);
        (await client.post(path, body)).expect(201);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    tenants.push({ name, path, token: (made.status as { token: string }).token, objects: count });
  }
  return tenants;
}

/** A merge patch that changes a field to what it was not. */
export function patchOf({ path, token }: Tenant, index: number) {
  return {
    method: "PATCH",
    path: `${path}/${nameOf(index)}`,
    headers: {
      Accept: "application/json",
      Authorization: `Bearer ${token}`,
      "Content-Type": "application/merge-patch+json",
    },
    body: JSON.stringify({ data: { mark: String(performance.now()) } }),
  };
}
