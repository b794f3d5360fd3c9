/** Creates the Representation of a resource for the negotiated form. */
import type { Naming } from "../../api/naming.js";
import { notAcceptable } from "../../api/status.js";
import { isOwnShape, isStored, type ServedResource } from "../../kinds/served-resource.js";
import type { TablePrinter } from "../../kinds/table-printer.js";
import type { Negotiated } from "../negotiation.js";
import type { IncludeObject, Representation } from "../representation.js";
import { inCbor } from "./cbor-encoding.js";
import { inCompactJson, inIndentedJson } from "./json-encoding.js";
import {
  type JsonForm,
  metadataForm,
  objectForm,
  type ServedBytes,
  servedBytes,
} from "./json-form.js";
import { type ProtobufForms, protobufMetadata, protobufObjects } from "./protobuf-encoding.js";
import { readableOnly } from "./readable-only.js";
import { tableForm } from "./table-form.js";
import { inYaml } from "./yaml-encoding.js";

export interface RepresentationParts {
  readonly naming: Naming;
  /** Columns and cells of a type. */
  printerOf(resource: ServedResource): TablePrinter;
  readonly protobuf: ProtobufForms;
  /** Wall clock in milliseconds. */
  now(): number;
}

export interface Asked {
  readonly negotiated: Negotiated;
  readonly includeObject: IncludeObject;
  /** Whether JSON is indented for people. */
  readonly isPretty: boolean;
}

/** @throws {StatusError} 406 if there is no Protobuf form */
export function createRepresentation(
  resource: ServedResource,
  asked: Asked,
  parts: RepresentationParts,
): Representation {
  return readableOnly(encodingOf(resource, asked, parts));
}

function encodingOf(
  resource: ServedResource,
  { negotiated, includeObject, isPretty }: Asked,
  parts: RepresentationParts,
): Representation {
  const { form, metaVersion, contentType } = negotiated;
  const json = formOf(resource, negotiated, includeObject, parts);
  if (negotiated.encoding === "protobuf") {
    const meta = { group: `meta.${parts.naming.groupDomain}`, version: metaVersion };
    const made =
      form === "object"
        ? protobufObjects(resource, contentType, parts.protobuf)
        : protobufMetadata(meta, contentType, parts.protobuf);
    if (made === undefined) throw notAcceptable(["application/json", "application/yaml"]);
    return made;
  }
  if (negotiated.encoding === "cbor") return inCbor(json, contentType);
  if (negotiated.encoding === "yaml") return inYaml(json, contentType);
  if (isPretty) return inIndentedJson(json, contentType);
  return inCompactJson(json, contentType);
}

function formOf(
  resource: ServedResource,
  { form, metaVersion: version }: Negotiated,
  includeObject: IncludeObject,
  { naming, printerOf, now }: RepresentationParts,
): JsonForm {
  if (form === "object") return objectForm(resource);
  const metaVersion = `meta.${naming.groupDomain}/${version}`;
  const served = isStored(resource) && isOwnShape(resource) ? servedBytes(resource) : undefined;
  if (form !== "Table") return metadataForm(metaVersion, served);
  return tableForm({
    printer: printerOf(resource),
    metaVersion,
    served,
    included: includedForm(resource, includeObject, metaVersion, served),
    includeObject,
    now,
  });
}

function includedForm(
  resource: ServedResource,
  includeObject: IncludeObject,
  metaVersion: string,
  served: ServedBytes | undefined,
): JsonForm | undefined {
  if (includeObject === "None") return undefined;
  return includeObject === "Object" ? objectForm(resource) : metadataForm(metaVersion, served);
}
