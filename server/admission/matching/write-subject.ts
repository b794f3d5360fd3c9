/**
 * WriteSubject: one write as rules see it: its names as in kube-apiserver, its objects in any served
 * version, and its namespace from the view. Created for one plugin and one attempt; each object is
 * converted once per version.
 */
import { objectPath, partitionId } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import { isJsonObject } from "../../api/json-object.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { formatGroupVersion } from "../../api/names.js";
import { badRequest, internalError, notFound, type StatusError } from "../../api/status.js";
import {
  isOwnShape,
  isStored,
  kindVersionOf,
  type ServedResource,
} from "../../kinds/served-resource.js";
import type { AdmissionAttributes } from "../admission.js";
import type { AdmissionView } from "../stored-objects.js";

/** Stored labels by name. */
type Labels = Readonly<Record<string, string>>;

const NAMESPACES = { group: "", resource: "namespaces" };
const NAMESPACES_PARTITION = partitionId("", "namespaces");

export class WriteSubject {
  readonly attributes: AdmissionAttributes;
  readonly served: ServedResource;
  /** For a namespace itself, its name. */
  readonly namespace: string;
  /** The object's name; "" while it has none. */
  readonly name: string;
  readonly #view: AdmissionView;
  readonly #versions = new Map<ServedResource, ApiObject>();
  readonly #oldVersions = new Map<ServedResource, ApiObject>();
  #converted: ApiObject | undefined;

  constructor(attributes: AdmissionAttributes, served: ServedResource, view: AdmissionView) {
    this.attributes = attributes;
    this.served = served;
    this.#view = view;
    this.name =
      attributes.isOfCollection === true
        ? ""
        : attributes.name || (attributes.object?.metadata.name ?? "");
    this.namespace = this.isNamespace ? this.name : attributes.namespace;
  }

  /** Whether the write is to a namespace or to its subresource. */
  get isNamespace(): boolean {
    const { group, resource } = this.served;
    return group === "" && resource === "namespaces";
  }

  /** The object to store, converted to the resource's version. Read-only. */
  object(resource: ServedResource): ApiObject | undefined {
    const { object } = this.attributes;
    if (object !== this.#converted) {
      this.#versions.clear();
      this.#converted = object;
    }
    return inVersion(object, resource, this.#versions, this.attributes.sentRevision);
  }

  /** The stored object, likewise. */
  oldObject(resource: ServedResource): ApiObject | undefined {
    const { oldObject, oldRevision } = this.attributes;
    return inVersion(oldObject, resource, this.#oldVersions, oldRevision);
  }

  /** For callers that changed the object in place. */
  forgetVersions(): void {
    this.#versions.clear();
  }

  /** Labels that namespace selectors match; undefined = selectors do not apply. @throws {StatusError} 404 */
  namespaceLabels(): Labels | undefined {
    const { operation, subresource, object } = this.attributes;
    if (this.namespace === "") return this.isNamespace ? {} : undefined;
    const isWritten = operation === "CREATE" || operation === "UPDATE";
    if (this.isNamespace && subresource === "" && isWritten) return object?.metadata.labels ?? {};
    const found = this.storedNamespace();
    if (found === undefined) throw this.#missingNamespace();
    return found.labels as Labels;
  }

  storedNamespace(): StoredObject | undefined {
    const path = objectPath("", this.namespace);
    return this.#view.partition(NAMESPACES_PARTITION).get(path);
  }

  #missingNamespace(): StatusError {
    return notFound(NAMESPACES, this.namespace);
  }
}

function inVersion(
  object: ApiObject | undefined,
  resource: ServedResource,
  known: Map<ServedResource, ApiObject>,
  resourceVersion = "",
): ApiObject | undefined {
  if (object === undefined) return undefined;
  let made = known.get(resource);
  if (made === undefined) {
    made = toServed(object, resource);
    if (resourceVersion !== "") {
      made = { ...made, metadata: { ...made.metadata, resourceVersion } };
    }
    known.set(resource, made);
  }
  return made;
}

/** Converts from admission's form to a served version. */
export function toServed(object: ApiObject, resource: ServedResource): ApiObject {
  const isAsSent = !isStored(resource) || isOwnShape(resource);
  const shown = isAsSent ? object : (resource.conversion?.fromStored(object) ?? object);
  const apiVersion = formatGroupVersion(kindVersionOf(resource));
  if (shown.apiVersion === apiVersion && shown.kind === resource.kind) return shown;
  return { ...shown, apiVersion, kind: resource.kind };
}

/**
 * JSON of a served version as a rule left it, decoded, with defaults.
 * @param isStrict whether fields that the kind does not have are refused, and not dropped
 * @throws {StatusError} 400; 500 when the rule made another kind of it
 */
export function decodeServed(
  value: JsonValue,
  resource: ServedResource,
  { isStrict = false } = {},
): ApiObject {
  const { codec } = resource;
  if (isJsonObject(value)) checkKind(value, resource);
  // A null that a rule put into a custom object is judged, unlike a client's.
  const { object, unknownFields } = codec.decode(value, { keepsNulls: true });
  if (isStrict && unknownFields.length > 0) {
    const problems = unknownFields.map((field) => `unknown field ${JSON.stringify(field)}`);
    throw badRequest(`strict decoding error: ${problems.join(", ")}`);
  }
  codec.applyDefaults(object);
  return object;
}

/** In the words of kube-apiserver. @throws {StatusError} 500 */
function checkKind({ apiVersion = "", kind = "" }: JsonObject, resource: ServedResource): void {
  const expected = formatGroupVersion(kindVersionOf(resource));
  if (apiVersion !== expected) {
    throw internalError(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`,
    );
  }
  if (kind === resource.kind) return;
  const [group = ""] = resource.group.split(".");
  throw internalError(
    `converting (${resource.version}.${String(kind)}) to (${group || "core"}.${resource.kind}): unknown conversion`,
  );
}

/** Converts from a served version to admission's form. */
export function fromServed(object: ApiObject, resource: ServedResource): ApiObject {
  if (!isStored(resource) || isOwnShape(resource) || resource.conversion === undefined) {
    return object;
  }
  const stored = resource.conversion.toStored(object);
  resource.storedCodec.applyDefaults(stored);
  return stored;
}
