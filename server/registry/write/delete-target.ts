/** What a delete is asked to do. */
import type { StoredResource } from "../../kinds/served-resource.js";
import type { UserInfo } from "../../request/user-info.js";
import type { AdmissionRemarks } from "../generic/registry.js";
import type { DeleteOptions } from "./delete-options.js";

export interface DeleteTarget {
  readonly resource: StoredResource;
  readonly namespace: string;
  readonly name: string;
  readonly options: DeleteOptions;
  /** Who asks; absent = the server itself. */
  readonly user?: UserInfo;
  /** Takes what the client should know although the delete succeeds. */
  readonly warn?: (text: string) => void;
  readonly remarks?: AdmissionRemarks;
}
