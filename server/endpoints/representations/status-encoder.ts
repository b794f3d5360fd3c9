/** Errors in the encoding that the client accepts (S1-PB-08, S1-QP-14), else in JSON. */
import type { Naming } from "../../api/naming.js";
import { type Status, StatusError } from "../../api/status.js";
import { encodeCbor } from "../../codec/cbor.js";
import { JSON_TYPE } from "../../codec/media-types.js";
import type { ProtobufCodecs } from "../../codec/protobuf.js";
import type { RequestContext } from "../../request/request-state.js";
import type { Negotiator, Offers } from "../negotiation.js";
import { indentJson } from "./indent-json.js";
import { wantsPretty } from "./pretty.js";
import { encodeDocument } from "./protobuf-encoding.js";
import { toYaml } from "./yaml-encoding.js";

export interface EncodedStatus {
  readonly contentType: string;
  readonly body: Buffer | string;
}

/** What an error is sent as: a clause that asks for a form of the object says nothing of it. */
const PLAIN: Offers = { hasProtobuf: true, isStream: false, hasForms: false };

/** Never throws: a client without an acceptable encoding gets JSON, so that it sees the error. */
export function createStatusEncoder(
  { protobufMediaType }: Naming,
  negotiator: Negotiator,
  codecs: Pick<ProtobufCodecs, "forKind">,
) {
  return (status: Status, accept: string | undefined, ctx: RequestContext): EncodedStatus => {
    const json = JSON.stringify(status);
    switch (encodingFor(negotiator, accept)) {
      case "protobuf":
        return {
          contentType: protobufMediaType,
          body: encodeDocument({ codecs }, Buffer.from(json)),
        };
      case "cbor":
        return { contentType: "application/cbor", body: encodeCbor(JSON.parse(json)) };
      case "yaml":
        return { contentType: "application/yaml", body: toYaml(JSON.parse(json)) };
      default:
        return {
          contentType: JSON_TYPE,
          body: wantsPretty(ctx) ? indentJson(json) : `${json}\n`,
        };
    }
  };
}

function encodingFor(negotiator: Negotiator, accept: string | undefined) {
  try {
    return negotiator.negotiate(accept, PLAIN).encoding;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return "json";
  }
}
