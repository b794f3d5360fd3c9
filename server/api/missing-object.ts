/** The refusal of a request for an object that is not there. */
import { badRequest, notFound, type StatusError } from "./status.js";
import { checkPathSegmentName } from "./validation-names.js";

/** 404, or 400 for a name that no object of any kind can have. */
export function missingObject(resource: Parameters<typeof notFound>[0], name: string): StatusError {
  const why = checkPathSegmentName(name, false);
  if (why.length === 0) return notFound(resource, name);
  return badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${why.join(";")}`);
}
