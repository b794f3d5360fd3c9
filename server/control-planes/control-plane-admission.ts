/**
 * What the server says about ControlPlanes that are written: who makes one is kept in an annotation that nobody else can
 * write, as it decides who administers it; and the server's finalizer lets the content go before the object.
 */
import { isDeepStrictEqual } from "node:util";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  type Handles,
  handlesOnly,
  refuse,
  WRITES,
} from "../admission/admission.js";
import type { PermissionQuestion } from "../admission/default-plugins.js";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { type SignalSource, signalOf } from "../request/lazy-signal.js";
import type { UserInfo } from "../request/user-info.js";
import type { CloneSource, ControlPlaneObject } from "./control-plane-index.js";
import {
  CONTROL_PLANES,
  contentFinalizer,
  controlPlaneGroup,
  creatorAnnotation,
  KUBECONFIG,
} from "./definition.js";

/** How the root is named where it is cloned. */
export const ROOT = "root";

export type AskPermission = (
  user: UserInfo,
  question: PermissionQuestion,
  signal: AbortSignal,
) => Promise<boolean>;

/** The longest DNS label, as names are parts of host names. */
const NAME_CHARS_MAX = 63;

export class ControlPlaneAdmission implements AdmissionPlugin {
  readonly name = "ControlPlanes";
  readonly #naming: Naming;
  readonly #may: AskPermission;

  /** @param may whether a user may do something in the root */
  constructor(naming: Naming, may: AskPermission) {
    this.#naming = naming;
    this.#may = may;
  }

  readonly handles: Handles = (...asked) =>
    handlesOnly(
      { group: controlPlaneGroup(this.#naming), resource: CONTROL_PLANES },
      WRITES,
    )(...asked);

  mutate({ operation, object, oldObject, user }: AdmissionAttributes): boolean {
    if (object === undefined) return false;
    const key = creatorAnnotation(this.#naming);
    const creator = operation === "CREATE" ? user.name : oldObject?.metadata.annotations?.[key];
    const { [key]: given, ...others } = object.metadata.annotations ?? {};
    let hasChanged = given !== creator;
    if (hasChanged) {
      const annotations = creator === undefined ? others : { ...others, [key]: creator };
      object.metadata = { ...object.metadata, annotations };
    }
    const finalizer = contentFinalizer(this.#naming);
    const { finalizers = [] } = object.metadata;
    if (operation === "CREATE" && !finalizers.includes(finalizer)) {
      object.metadata = { ...object.metadata, finalizers: [...finalizers, finalizer] };
      hasChanged = true;
    }
    return hasChanged;
  }

  validate(attributes: AdmissionAttributes, source: SignalSource): Promise<void> | undefined {
    const cloneFrom = cloneSourceOf(attributes.object);
    if (attributes.operation !== "CREATE") {
      // The schema cannot say it of an object that had no spec.
      if (isDeepStrictEqual(cloneFrom, cloneSourceOf(attributes.oldObject))) return undefined;
      throw refuse(attributes, "spec.cloneFrom cannot be changed");
    }
    const { name = "" } = attributes.object?.metadata ?? {};
    if (name.length > NAME_CHARS_MAX || name.includes(".")) {
      throw refuse(attributes, "the name must be a DNS label of at most 63 characters");
    }
    if (name === ROOT) throw refuse(attributes, `${JSON.stringify(ROOT)} is the API above all`);
    if (name === cloneFrom?.name) throw refuse(attributes, "it cannot be cloned from itself");
    return cloneFrom && this.#checkOriginal(attributes, cloneFrom.name, signalOf(source));
  }

  /** A clone has all that its original has, Secrets included: only its administrators may make one. */
  async #checkOriginal(
    attributes: AdmissionAttributes,
    name: string,
    signal: AbortSignal,
  ): Promise<void> {
    const question =
      name === ROOT
        ? { verb: "*", group: "*", resource: "*", namespace: "", name: "" }
        : {
            ...{ verb: "create", group: controlPlaneGroup(this.#naming), namespace: "", name },
            resource: `${CONTROL_PLANES}/${KUBECONFIG}`,
          };
    if (await this.#may(attributes.user, question, signal)) return;
    const why = `${attributes.user.name} may not enter ${JSON.stringify(name)}, which it is cloned from`;
    throw refuse(attributes, why);
  }
}

function cloneSourceOf(object: ApiObject | undefined): CloneSource | undefined {
  return (object as ControlPlaneObject | undefined)?.spec?.cloneFrom ?? undefined;
}
