/** Who may do what: roles and their bindings, as tests give them. */
import type { HttpsClient } from "./https-client.js";

const GROUP = "rbac.authorization.k8s.io";
const PATH = `/apis/${GROUP}/v1`;

/**
 * @param role such as "ClusterRole view"
 * @param subjects such as "User jane", "Group devs", "ServiceAccount default/robot"
 */
export function bindingOf(name: string, role: string, ...subjects: readonly string[]) {
  const [kind = "", roleName = ""] = role.split(" ");
  const roleRef = { apiGroup: GROUP, kind, name: roleName };
  return { metadata: { name }, roleRef, subjects: subjects.map(subjectOf) };
}

function subjectOf(text: string): object {
  const [kind = "", name = ""] = text.split(" ");
  if (kind !== "ServiceAccount") return { apiGroup: GROUP, kind, name };
  const [namespace, account] = name.split("/");
  return { kind, namespace, name: account };
}

export interface Grant {
  /** Of the role and of its binding. */
  readonly name: string;
  /** A subject, as of bindingOf. */
  readonly to: string;
  readonly rules: readonly object[];
  /** Absent = everywhere. */
  readonly namespace?: string;
}

export async function grant(client: HttpsClient, granted: Grant): Promise<void> {
  const { name, to, rules, namespace } = granted;
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  const path = namespace === undefined ? `${PATH}/cluster` : `${PATH}/namespaces/${namespace}/`;
  (await client.post(`${path}roles`, { metadata: { name }, rules })).expect(201);
  (await client.post(`${path}rolebindings`, bindingOf(name, `${kind} ${name}`, to))).expect(201);
}

/** Gives everybody who is authenticated one of the roles that every cluster has. */
export async function grantEverybody(client: HttpsClient, role: "view" | "edit"): Promise<void> {
  const binding = bindingOf(
    `everybody-${role}`,
    `ClusterRole ${role}`,
    "Group system:authenticated",
  );
  (await client.post(`${PATH}/clusterrolebindings`, binding)).expect(201);
}
