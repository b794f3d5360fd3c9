/** The target and options of a delete. */
import type { StoredResource } from "../../kinds/served-resource.js";
import type { UserInfo } from "../../request/user-info.js";
import type { AdmissionRemarks } from "../registry.js";
import type { DeleteOptions } from "./delete-options.js";
import type { WritingRequest } from "./long-write.js";

export interface DeleteTarget {
  readonly resource: StoredResource;
  readonly namespace: string;
  readonly name: string;
  readonly options: DeleteOptions;
  /** The requesting user; absent = the server itself. */
  readonly user?: UserInfo;
  /** Receives warnings for the client of a successful delete. */
  readonly warn?: (text: string) => void;
  readonly remarks?: AdmissionRemarks;
  /** The request, which ends its turns with a large object; absent = the server itself. */
  readonly request?: WritingRequest;
  /** Set for an object of a collection that is deleted, which the request does not name. */
  readonly isOfCollection?: true;
}
