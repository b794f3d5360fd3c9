/**
 * Content negotiation of answers: which media type, and which form of the object (S1-NEG, S1-TABLE).
 * A pure function of the `Accept` header; the result is one of a few shared values, so that a
 * repeated header costs a map look-up.
 */
import type { Naming } from "../api/naming.js";
import { notAcceptable } from "../api/status.js";
import { CBOR_TYPE, JSON_TYPE, YAML_TYPE } from "../codec/media-types.js";

/** The part of an object that is sent: all of it, table rows, or its metadata. */
export type ObjectForm = "object" | "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList";

export type Encoding = "json" | "yaml" | "protobuf" | "cbor";

/** The version that Tables and metadata are in. */
export type MetaVersion = "v1" | "v1beta1";

export interface Negotiated {
  readonly form: ObjectForm;
  /** "v1" for whole objects. */
  readonly metaVersion: MetaVersion;
  readonly encoding: Encoding;
  /** The content type of a body, without the form, which the body names; a watch stream may have another. */
  readonly contentType: string;
}

/** Available encodings besides JSON. */
export interface Offers {
  /** Whether whole objects of the type have a Protobuf form; metadata always has one (C-16). */
  readonly hasProtobuf: boolean;
  /** Whether it is an event stream, for which there is no YAML. */
  readonly isStream: boolean;
  /** Whether Tables and metadata are available, as for all stored objects (default). */
  readonly hasForms?: boolean;
}

/** For a watch, which is a sequence of items (RFC 8742). */
const CBOR_SEQUENCE_TYPE = "application/cbor-seq";

const PLAIN: Negotiated = Object.freeze({
  form: "object",
  metaVersion: "v1",
  encoding: "json",
  contentType: JSON_TYPE,
});

const ALL: Offers = Object.freeze({ hasProtobuf: true, isStream: false });

const FORMS: ReadonlySet<string> = new Set([
  "Table",
  "PartialObjectMetadata",
  "PartialObjectMetadataList",
]);

/** Number of remembered headers; clients use a handful. The oldest one goes, so nobody fills it with others for ever. */
const REMEMBERED_MAX = 500;

/** Longer headers are cut; no client needs more clauses. */
const CLAUSES_MAX = 64;

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

export interface Negotiator {
  /**
   * @param offers default: everything that built-in types offer
   * @throws {StatusError} 406 if nothing acceptable is available
   */
  negotiate(accept: string | undefined, offers?: Offers): Negotiated;
}

/** @param options `hasCbor`: whether CBOR is offered (gate CBORServingAndStorage, S1-NEG-04) */
export function createNegotiator(
  { groupDomain, protobufMediaType }: Naming,
  { hasCbor = false }: { readonly hasCbor?: boolean } = {},
): Negotiator {
  const metaGroup = `meta.${groupDomain}`;
  const remembered = new Map<string, Negotiated>();
  const encodings: ReadonlyMap<string, Encoding> = new Map<string, Encoding>([
    [JSON_TYPE, "json"],
    ["*/*", "json"],
    ["application/*", "json"],
    [YAML_TYPE, "yaml"],
    [protobufMediaType, "protobuf"],
    ...(hasCbor ? ([[CBOR_TYPE, "cbor"]] as const) : []),
  ]);
  const mediaTypes = {
    json: JSON_TYPE,
    yaml: YAML_TYPE,
    protobuf: protobufMediaType,
    cbor: CBOR_TYPE,
  };
  const offered = Object.values(mediaTypes).filter((type) => encodings.has(type));
  const streamed = offered
    .filter((type) => type !== YAML_TYPE)
    .map((type) => `${type};stream=watch`);

  function offer({ type, parameters }: Clause, offers: Offers): Negotiated | undefined {
    const isSequence = type === CBOR_SEQUENCE_TYPE && offers.isStream;
    const encoding = encodings.get(isSequence ? CBOR_TYPE : type);
    if (encoding === undefined) return undefined;
    const form = parameters.get("as") ?? "object";
    const isProtobuf = encoding === "protobuf";
    if (form === "object") {
      if (isProtobuf && !offers.hasProtobuf) return undefined;
      return { form, metaVersion: "v1", encoding, contentType: mediaTypes[encoding] };
    }
    if (offers.hasForms === false) return undefined;
    if (!FORMS.has(form) || parameters.get("g") !== metaGroup) return undefined;
    const metaVersion = parameters.get("v");
    if (metaVersion !== "v1" && metaVersion !== "v1beta1") return undefined;
    if (isProtobuf && form === "Table") return undefined;
    return {
      form: form as ObjectForm,
      metaVersion,
      encoding,
      contentType: mediaTypes[encoding],
    };
  }

  function choose(accept: string, offers: Offers): Negotiated {
    const clauses = accept.split(",", CLAUSES_MAX).map(parseClause);
    // The sort is stable: among equals the client's order counts.
    clauses.sort((a, b) => b.quality - a.quality);
    for (const clause of clauses) {
      const result = clause.quality > 0 ? offer(clause, offers) : undefined;
      if (result === undefined) continue;
      // The first that suits decides, also where it has no form as a stream.
      if (result.encoding === "yaml" && offers.isStream) break;
      return result;
    }
    // Protobuf is named even where only metadata has such a form, as in kube-apiserver.
    throw notAcceptable(offers.isStream ? streamed : offered);
  }

  return {
    negotiate(accept, offers = ALL) {
      if (accept === undefined || accept === "" || accept === JSON_TYPE || accept === "*/*") {
        return PLAIN;
      }
      const key = `${offers.hasProtobuf ? "p" : "-"}${offers.isStream ? "s" : "-"}${offers.hasForms === false ? "-" : "f"}${accept}`;
      const known = remembered.get(key);
      if (known !== undefined) return known;
      const result = choose(accept, offers);
      if (remembered.size === REMEMBERED_MAX) {
        const [oldest = ""] = remembered.keys();
        remembered.delete(oldest);
      }
      remembered.set(key, result);
      return result;
    },
  };
}

function parseClause(text: string): Clause {
  const [type = "", ...rest] = text.split(";");
  const parameters = new Map<string, string>();
  let quality = 1;
  for (const part of rest) {
    const equals = part.indexOf("=");
    if (equals < 0) continue;
    const name = part.slice(0, equals).trim().toLowerCase();
    const value = part
      .slice(equals + 1)
      .trim()
      .replace(/^"(.*)"$/, "$1");
    if (name === "q") quality = parseQuality(value);
    else parameters.set(name, value);
  }
  return { type: type.trim().toLowerCase(), parameters, quality };
}

function parseQuality(text: string): number {
  const quality = Number(text);
  return Number.isFinite(quality) ? Math.min(Math.max(quality, 0), 1) : 1;
}
