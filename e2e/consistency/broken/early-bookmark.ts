/** Preload that breaks a replica: its bookmarks promise more than it has told. */
import { Watcher } from "../../../storage/cache/watcher.js";
import type { Revision } from "../../../storage/kv/store.js";

const AHEAD = 3;

const honest = Object.getOwnPropertyDescriptor(Watcher.prototype, "completeRevision")?.get;

Object.defineProperty(Watcher.prototype, "completeRevision", {
  get(this: Watcher): Revision | undefined {
    const revision = honest?.call(this) as Revision | undefined;
    return revision === undefined ? undefined : ((revision + AHEAD) as Revision);
  },
});
