/**
 * What an administrator makes before the attacks: two users, a namespace for each, some objects, a definition whose
 * schema takes any key, one whose schema has much to check, and a webhook that never answers in time.
 */
import type { HttpsClient } from "../harness/https-client.js";
import { NAMESPACE } from "./attack.js";
import { CHECKED_DEFINITION } from "./schemas.js";

export interface Tokens {
  readonly attacker: string;
  readonly bystander: string;
}

export async function furnish(admin: HttpsClient): Promise<Tokens> {
  const attacker = await makeUser(admin, NAMESPACE, "edit");
  await letDefine(admin);
  const bystander = await makeUser(admin, "blue", "view");
  await make(admin, "/api/v1/namespaces/blue/configmaps", {
    metadata: { name: "small" },
    data: { a: "b" },
  });
  for (let index = 0; index < 300; index++) {
    await make(admin, `/api/v1/namespaces/${NAMESPACE}/configmaps`, {
      metadata: { name: `many-${index}`, labels: { app: `a${index % 7}`, index: `${index}` } },
      data: { text: "x".repeat(1_000) },
    });
  }
  for (const definition of [LOOSE, CHECKED_DEFINITION]) {
    await make(admin, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  }
  await make(
    admin,
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    STALLS,
  );
  return { attacker, bystander };
}

async function makeUser(admin: HttpsClient, namespace: string, role: string): Promise<string> {
  await make(admin, "/api/v1/namespaces", { metadata: { name: namespace } });
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await make(admin, accounts, { metadata: { name: "user" } });
  await make(admin, `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`, {
    metadata: { name: "things" },
    rules: [
      { apiGroups: ["adversary.example.com"], resources: ["*"], verbs: ["*"] },
      { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
      {
        apiGroups: ["rbac.authorization.k8s.io"],
        resources: ["roles", "rolebindings"],
        verbs: ["create"],
      },
    ],
  });
  for (const [kind, name] of [
    ["ClusterRole", role],
    ["Role", "things"],
  ]) {
    await make(admin, `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name },
      subjects: [{ kind: "ServiceAccount", name: "user", namespace }],
    });
  }
  const body = { spec: { expirationSeconds: 7_200 } };
  const answer = (await admin.post(`${accounts}/user/token`, body)).expect(201);
  return (answer.object.status as { token: string }).token;
}

/** Many may make definitions: who installs an operator, and whoever has a control plane. */
async function letDefine(admin: HttpsClient): Promise<void> {
  const name = "defines";
  const group = "rbac.authorization.k8s.io";
  await make(admin, `/apis/${group}/v1/clusterroles`, {
    metadata: { name },
    rules: [
      {
        apiGroups: ["apiextensions.k8s.io"],
        resources: ["customresourcedefinitions"],
        verbs: ["create", "update", "patch"],
      },
    ],
  });
  await make(admin, `/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: group, kind: "ClusterRole", name },
    subjects: [{ kind: "ServiceAccount", name: "user", namespace: NAMESPACE }],
  });
}

/** What exists from an earlier scene on the same store stays. */
async function make(admin: HttpsClient, path: string, object: object): Promise<void> {
  const answer = await admin.post(path, object);
  if (answer.status !== 409) answer.expect(201, path);
}

const LOOSE = {
  metadata: { name: "things.adversary.example.com" },
  spec: {
    group: "adversary.example.com",
    scope: "Namespaced",
    names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              lists: {
                type: "object",
                additionalProperties: { type: "array", items: { type: "integer" } },
              },
              words: {
                type: "array",
                maxItems: 1_000,
                items: { type: "string", maxLength: 100, pattern: "^(a+)+$" },
                "x-kubernetes-validations": [
                  { rule: "self.all(word, word.startsWith('a') && word.size() < 100)" },
                ],
              },
              set: {
                type: "array",
                items: { type: "string" },
                "x-kubernetes-list-type": "set",
              },
              keyed: {
                type: "array",
                items: {
                  type: "object",
                  required: ["name"],
                  properties: { name: { type: "string" }, value: { type: "string" } },
                },
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
              },
              any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
      },
    ],
  },
};

/** An address that answers nobody: connections to it wait until the webhook's time is over. */
const STALLS = {
  metadata: { name: "stalls.adversary.example.com" },
  webhooks: [
    {
      name: "stalls.adversary.example.com",
      clientConfig: { url: "https://192.0.2.1:443/stalls" },
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      timeoutSeconds: 2,
      failurePolicy: "Fail",
      rules: [
        {
          apiGroups: [""],
          apiVersions: ["v1"],
          operations: ["CREATE"],
          resources: ["podtemplates"],
        },
      ],
    },
  ],
};
