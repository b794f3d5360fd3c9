/**
 * Content negotiation of answers: which media type, and which form of the object (S1-NEG, S1-TABLE).
 * A pure function of the `Accept` header; the result is one of a few shared values, so that a
 * repeated header costs a map look-up.
 */
import type { Naming } from "../api/naming.js";
import { notAcceptable } from "../api/status.js";

/** What of an object is sent: all of it, table rows, or its metadata. */
export type ObjectForm = "object" | "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList";

export interface Negotiated {
  readonly form: ObjectForm;
  readonly contentType: string;
}

const JSON_TYPE = "application/json";

const PLAIN: Negotiated = Object.freeze({ form: "object", contentType: JSON_TYPE });

const FORMS: ReadonlySet<string> = new Set([
  "Table",
  "PartialObjectMetadata",
  "PartialObjectMetadataList",
]);

/** Different headers remembered; clients use a handful. */
const REMEMBERED_MAX = 500;

/** Longer headers are cut down to what anybody means. */
const CLAUSES_MAX = 64;

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

export interface Negotiator {
  /** @throws {StatusError} 406 when nothing acceptable can be made */
  negotiate(accept: string | undefined): Negotiated;
}

export function createNegotiator(naming: Naming): Negotiator {
  const metaGroup = `meta.${naming.groupDomain}`;
  const remembered = new Map<string, Negotiated>();
  return {
    negotiate(accept) {
      if (accept === undefined || accept === "" || accept === JSON_TYPE || accept === "*/*") {
        return PLAIN;
      }
      const known = remembered.get(accept);
      if (known !== undefined) return known;
      const result = choose(accept, metaGroup);
      if (remembered.size < REMEMBERED_MAX) remembered.set(accept, result);
      return result;
    },
  };
}

function choose(accept: string, metaGroup: string): Negotiated {
  const clauses = accept.split(",", CLAUSES_MAX).map(parseClause);
  // A stable sort: among equals the client's order counts.
  clauses.sort((a, b) => b.quality - a.quality);
  for (const clause of clauses) {
    const result = clause.quality > 0 ? offer(clause, metaGroup) : undefined;
    if (result !== undefined) return result;
  }
  throw notAcceptable([JSON_TYPE]);
}

function offer({ type, parameters }: Clause, metaGroup: string): Negotiated | undefined {
  if (type !== JSON_TYPE && type !== "*/*" && type !== "application/*") return undefined;
  const form = parameters.get("as");
  if (form === undefined) return PLAIN;
  if (!FORMS.has(form) || parameters.get("g") !== metaGroup) return undefined;
  const version = parameters.get("v");
  if (version !== "v1") return undefined;
  return {
    form: form as ObjectForm,
    contentType: `${JSON_TYPE};as=${form};g=${metaGroup};v=${version}`,
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
