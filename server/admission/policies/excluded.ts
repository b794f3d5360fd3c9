/** Requests exempt from policies: reviews of users' permissions, which store nothing and must stay possible. */
import type { Naming } from "../../api/naming.js";

const EXCLUDED: Readonly<Record<string, readonly string[]>> = {
  authentication: ["selfsubjectreviews", "tokenreviews"],
  authorization: [
    "localsubjectaccessreviews",
    "selfsubjectaccessreviews",
    "selfsubjectrulesreviews",
    "subjectaccessreviews",
  ],
};

export function isExcluded(
  { groupDomain }: Naming,
  { group, resource }: { readonly group: string; readonly resource: string },
): boolean {
  if (!group.endsWith(`.${groupDomain}`)) return false;
  const name = group.slice(0, -groupDomain.length - 1);
  return EXCLUDED[name]?.includes(resource) === true;
}
