/**
 * The versions of an object that the server still keeps, one behind the other, by GETs of exact versions: the
 * version before one of revision r is the state at r - 1, whose own revision says where to go on.
 */
import type { JsonObject } from "../../api/meta.js";
import { membersOf, textOf } from "./members.js";

/** @returns undefined = there was none then. @throws {Error} it is not kept, or cannot be asked */
export type ReadVersion = (query: string) => Promise<JsonObject | undefined>;

/** @returns undefined = `object` is the first. @throws {Error} it is not known */
export async function versionBefore(
  read: ReadVersion,
  object: JsonObject,
): Promise<JsonObject | undefined> {
  const version = versionOf(object);
  if (!/^[1-9]\d*$/.test(version)) throw new Error("this server's versions are no numbers");
  const wanted = BigInt(version) - 1n;
  const found = await read(`resourceVersion=${wanted}&resourceVersionMatch=Exact`);
  if (found === undefined) return undefined;
  if (BigInt(versionOf(found)) > wanted) {
    throw new Error("this server does not answer with earlier versions of an object");
  }
  // An object of the same name that was there before is another one.
  return uidOf(found) === uidOf(object) ? found : undefined;
}

export function versionOf({ metadata }: JsonObject): string {
  return textOf(membersOf(metadata)?.resourceVersion);
}

function uidOf({ metadata }: JsonObject): string {
  return textOf(membersOf(metadata)?.uid);
}
