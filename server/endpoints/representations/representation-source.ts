/** RepresentationSource: the representation that a request asks for, created once per resource and shared. */
import type { SharedBytes } from "../../../storage/base/shared-bytes.js";
import { invalidValue } from "../../api/field-errors.js";
import type { Naming } from "../../api/naming.js";
import { badRequest, unsuitableForm } from "../../api/status.js";
import type { ProtobufCodecs } from "../../codec/protobuf.js";
import { isStored, type ServedResource } from "../../kinds/served-resource.js";
import type { RequestContext } from "../../request/request-state.js";
import type { Negotiator, ObjectForm } from "../negotiation.js";
import type { IncludeObject, Representation } from "../representation.js";
import { DEFAULT_TABLE } from "../tables/default-table.js";
import { createRepresentation, type RepresentationParts } from "./create-representation.js";
import { wantsPretty } from "./pretty.js";
import { createProtobufForms } from "./protobuf-encoding.js";

export interface RepresentationSource {
  /** Returns the requested representation. @throws {StatusError} 406, 400 */
  of(ctx: RequestContext, resource: ServedResource, isCollection: boolean): Representation;
}

const INCLUDE_OBJECT: ReadonlySet<string> = new Set(["None", "Metadata", "Object"]);
const INCLUDE_OBJECT_RULE = "must be 'Metadata', 'Object', 'None', or empty";

/** The dependencies of a source besides names and negotiation; all have defaults. */
export interface SourceOptions extends Partial<Pick<RepresentationParts, "printerOf" | "now">> {
  /** Absent = Protobuf is not offered. */
  readonly protobuf?: Pick<ProtobufCodecs, "forKind">;
  /** What cached encodings count in; absent = they are alone. */
  readonly memory?: SharedBytes;
}

const NO_PROTOBUF: Pick<ProtobufCodecs, "forKind"> = { forKind: () => undefined };

export function createRepresentationSource(
  naming: Naming,
  negotiator: Negotiator,
  { protobuf = NO_PROTOBUF, memory, ...options }: SourceOptions = {},
): RepresentationSource {
  const made = new WeakMap<ServedResource, Map<string, Representation>>();
  const all: RepresentationParts = {
    naming,
    printerOf: () => DEFAULT_TABLE,
    now: () => Date.now(),
    protobuf: createProtobufForms(protobuf, memory),
    ...options,
  };
  return {
    of(ctx, resource, isCollection) {
      const isStream = ctx.state.info.verb === "watch";
      const negotiated = negotiator.negotiate(ctx.get("accept"), {
        hasProtobuf: all.protobuf.codecOf(resource) !== undefined,
        isStream,
        // The answer of a review is not an object with a table row (S1-TABLE-08).
        hasForms: isStored(resource) || resource.form === "computed",
      });
      const include = negotiated.form === "Table" ? includeObject(ctx) : "Metadata";
      const isPretty = wantsPretty(ctx);
      let ofResource = made.get(resource);
      if (ofResource === undefined) {
        ofResource = new Map();
        made.set(resource, ofResource);
      }
      const { encoding, form, metaVersion } = negotiated;
      // Watch events contain single objects.
      refuseUnsuitable(form, resource, isCollection && !isStream);
      const key = `${encoding}/${form}/${metaVersion}/${include}${isPretty ? "/pretty" : ""}`;
      let representation = ofResource.get(key);
      if (representation === undefined) {
        const asked = { negotiated, includeObject: include, isPretty };
        representation = createRepresentation(resource, asked, all);
        ofResource.set(key, representation);
      }
      return representation;
    },
  };
}

/** A list does not have a single object's form, and vice versa (C-16). @throws {StatusError} 406 */
function refuseUnsuitable(form: ObjectForm, { kind }: ServedResource, isList: boolean): void {
  if (form === "PartialObjectMetadata" && isList) {
    throw unsuitableForm(form, `is a list (${kind}List)`);
  }
  if (form === "PartialObjectMetadataList" && !isList) {
    throw unsuitableForm(form, `is not a list (${kind})`);
  }
}

function includeObject(ctx: RequestContext): IncludeObject {
  const { query } = ctx.state.info;
  const asked = query.isEmpty ? undefined : query.get("includeObject");
  if (asked === undefined || asked === "") return "Metadata";
  if (!INCLUDE_OBJECT.has(asked)) {
    const { field, message } = invalidValue("includeObject", asked, INCLUDE_OBJECT_RULE);
    throw badRequest(`Unable to convert to Table as requested: ${field}: ${message}`);
  }
  return asked as IncludeObject;
}
