/** Control planes of an API of tests, as requests of its administrator: made, cloned, and removed. */
import { randomBytes } from "node:crypto";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { ROOT } from "../control-planes/control-plane-admission.js";
import {
  CONTROL_PLANE_KIND,
  CONTROL_PLANE_VERSION,
  CONTROL_PLANES,
  controlPlaneGroup,
} from "../control-planes/definition.js";
import { CONTROL_PLANES_PATH } from "../control-planes/names-in-requests.js";
import { type AdminAccess, tokenKubeconfig } from "./access.js";
import { AdminClient, type Answer } from "./admin-client.js";
import type { ControlPlaneOptions, KeelsonControlPlane } from "./types.js";

export class ControlPlaneClient {
  readonly #access: AdminAccess;
  readonly #client: AdminClient;
  readonly #group: string;
  readonly #tokens: ReadonlyMap<string, string>;

  /** @param tokens of the users, by name */
  constructor(
    access: AdminAccess,
    tokens: ReadonlyMap<string, string>,
    vendor: string = DEFAULT_VENDOR,
  ) {
    this.#access = access;
    this.#tokens = tokens;
    this.#client = new AdminClient(access, "keelson-control-planes");
    this.#group = controlPlaneGroup(createNaming(vendor));
  }

  /** It has answered a request when this resolves. @throws {Error} with what the API says */
  async make({ name, cloneFrom }: ControlPlaneOptions): Promise<KeelsonControlPlane> {
    const own = name ?? `test-${randomBytes(6).toString("hex")}`;
    const original = typeof cloneFrom === "string" ? cloneFrom : cloneFrom?.name;
    const object = {
      apiVersion: `${this.#group}/${CONTROL_PLANE_VERSION}`,
      kind: CONTROL_PLANE_KIND,
      metadata: { name: own },
      spec: original === undefined ? {} : { cloneFrom: { name: original } },
    };
    const kind = `/apis/${object.apiVersion}/${CONTROL_PLANES}`;
    require(await this.#client.ask("POST", kind, { body: object }), 201);
    const path = `${CONTROL_PLANES_PATH}${own}`;
    const remove = async () => {
      const answer = await this.#client.ask("DELETE", `${kind}/${own}`);
      if (answer.status !== 404) require(answer, 200);
    };
    const first = await this.#client.ask("GET", `${path}/api`);
    // Nobody could dispose of it.
    if (first.status !== 200) await remove();
    require(first, 200);
    const { ca, cert, key, kubeconfig, url: rootUrl } = this.#access;
    const url = `${rootUrl}${path}`;
    return {
      name: own,
      url,
      ca,
      cert,
      key,
      kubeconfig: kubeconfig.replace(rootUrl, url),
      as: (user) => {
        const token = this.#tokens.get(user);
        if (token === undefined) throw new RangeError(`no user is called ${JSON.stringify(user)}`);
        return {
          url,
          ca,
          token,
          kubeconfig: tokenKubeconfig({ url, ca, kubeconfig }, user, token),
        };
      },
      fork: () => this.make({ cloneFrom: own }),
      stop: remove,
      [Symbol.asyncDispose]: remove,
    };
  }

  /** A clone of the API above all. */
  fork(): Promise<KeelsonControlPlane> {
    return this.make({ cloneFrom: ROOT });
  }

  close(): void {
    this.#client.close();
  }
}

/** @throws {Error} with what the API says */
function require({ status, value }: Answer, expected: number): void {
  if (status === expected) return;
  const isUnknown =
    status === 404 && (value.details as { name?: string } | undefined)?.name === undefined;
  const hint = isUnknown ? "; startKeelson needs the option controlPlanes" : "";
  throw new Error(`${String(value.message)}${hint}`);
}
