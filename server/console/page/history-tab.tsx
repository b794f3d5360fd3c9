/** A slider through the versions of an object that the server keeps, each with what differs from the one before. */
import { useState } from "preact/hooks";
import type { JsonObject } from "../../api/meta.js";
import { authorsOf } from "../../commands/authors-of.js";
import { membersOf, textOf } from "../model/members.js";
import { versionBefore, versionOf } from "../model/versions.js";
import { ApiProblem } from "./api.js";
import { Changes } from "./changes.js";
import { useLoaded, useWork } from "./hooks.js";
import { readTimeline } from "./recorded.js";
import type { Shown } from "./ui.js";
import { YamlTab } from "./yaml-tab.js";

/** How many versions are read; each is kept for as long as the tab is open. */
const VERSIONS_MAX = 200;
const WRITES_MAX = "10000";
const NOT_FOUND = 404;
const GONE = 410;

interface Past {
  /** The oldest first. */
  readonly versions: readonly JsonObject[];
  /** Why there are no older ones; undefined = they are being read. */
  readonly end: string | undefined;
}

export function HistoryTab({ ui, type, path, object }: Shown) {
  const recorded = useRecorded({ ui, type, path, object });
  const writtenBy = (before: JsonObject | undefined, after: JsonObject) => {
    const { who, time } = authorsOf(before, after, recorded);
    return `written by ${who}, ${time}`;
  };
  const [past, setPast] = useState<Past>({ versions: [object], end: undefined });
  /** Counted from the newest: older ones come in front. */
  const [back, setBack] = useState(0);
  useWork(
    async (signal) => {
      const read = async (query: string) => {
        try {
          return await ui.api.get(`${path}?${query}`, signal);
        } catch (error) {
          if (error instanceof ApiProblem && error.status === NOT_FOUND) return undefined;
          if (error instanceof ApiProblem && error.status === GONE)
            throw new Error("older versions are not kept any more");
          throw error;
        }
      };
      let versions = [object];
      let end = `only the last ${VERSIONS_MAX} are read`;
      try {
        while (versions.length < VERSIONS_MAX && !signal.aborted) {
          const [oldest] = versions;
          const before = oldest && (await versionBefore(read, oldest));
          if (before === undefined) {
            end = "the first one is its creation";
            break;
          }
          versions = [before, ...versions];
          setPast({ versions, end: undefined });
        }
      } catch (error) {
        end = (error as Error).message;
      }
      if (!signal.aborted) setPast({ versions, end });
    },
    [ui.api, path],
  );
  const { versions, end } = past;
  const at = Math.max(0, versions.length - 1 - back);
  const [before, shown] = [versions[at - 1], versions[at] ?? object];
  return (
    <section aria-label="History" class="history">
      <h2>History</h2>
      <label for="version">
        Version {versionOf(shown)}, {at + 1} of {versions.length}
      </label>
      <input
        id="version"
        type="range"
        min={1}
        max={Math.max(2, versions.length)}
        value={at + 1}
        disabled={versions.length < 2}
        aria-valuetext={`version ${versionOf(shown)}, ${writtenBy(before, shown)}`}
        onInput={({ currentTarget }) => setBack(versions.length - Number(currentTarget.value))}
      />
      <p role="status">
        {writtenBy(before, shown)}
        {end === undefined ? "; reading older versions …" : `; ${end}.`}
      </p>
      {before !== undefined && (
        <Changes before={before} after={shown} label="Differences from the version before" />
      )}
      <YamlTab object={shown} />
    </section>
  );
}

const NOTHING_RECORDED = { writes: [], clients: [] };

/** Who wrote which version, where the server records it; nothing otherwise. */
function useRecorded({ ui, type: { group, resource }, path, object }: Shown) {
  const { resourceVersion, namespace, name } = membersOf(object.metadata) ?? {};
  const of = { group, resource, namespace: textOf(namespace), name: textOf(name) };
  const { value } = useLoaded(
    async (signal) => await readTimeline(ui.api, of, { limit: WRITES_MAX }, signal),
    [ui.api, path, textOf(resourceVersion)],
  );
  return value ?? NOTHING_RECORDED;
}
