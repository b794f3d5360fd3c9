/** Revisions of templates, kept as ControllerRevisions: by them kubectl shows the history and goes back. */
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject } from "../api/meta.js";
import type { Simulation } from "./keyed-loop.js";
import type { PodTemplate, Workload } from "./kinds.js";
import { controlled, ownerReference } from "./owned-objects.js";
import { hashOf } from "./pod-templates.js";

/** The label of pods that names their revision. */
export const REVISION_LABEL = "controller-revision-hash";

export interface Revision extends ApiObject {
  readonly revision?: number;
  readonly data?: { readonly spec?: { readonly template?: PodTemplate } };
}

const HISTORY_DEFAULT = 10;

/**
 * The revision of the present template, which is made when it is new, and is the newest when it is an old one again.
 * @returns all revisions, oldest first, of which the last is the present one
 */
export async function keepRevisions(
  { objects }: Simulation,
  owner: Workload,
  signal: AbortSignal,
): Promise<readonly Revision[]> {
  const resource = objects.resource("apps", "controllerrevisions");
  const { namespace = "", name = "" } = owner.metadata;
  const data = { spec: { template: { ...owner.spec?.template, $patch: "replace" } } };
  const known = controlled<Revision>(objects, resource, owner).toSorted(byNumber);
  const newest = Number(known.at(-1)?.revision ?? 0);
  const found = known.find((one) => deepEqual(one.data, data));
  if (found !== undefined && found === known.at(-1)) return known;
  if (found !== undefined) {
    const next = { ...found, revision: newest + 1 };
    const updated = (await objects.update(resource, next, "", signal)) as Revision;
    return [...known.filter((one) => one !== found), updated];
  }
  const hash = hashOf(owner.spec?.template);
  const made = await objects.create(
    resource,
    {
      ...{ apiVersion: "apps/v1", kind: "ControllerRevision" },
      metadata: {
        ...{ namespace, name: `${name}-${hash}`, ownerReferences: [ownerReference(owner)] },
        labels: { ...owner.spec?.template?.metadata?.labels, [REVISION_LABEL]: hash },
      },
      ...{ data, revision: newest + 1 },
    },
    signal,
  );
  return [...known, made as Revision];
}

/** What is kept beyond the limit goes, unless it is in use. */
export async function forgetRevisions(
  { objects }: Simulation,
  owner: Workload,
  { all, inUse }: { readonly all: readonly Revision[]; readonly inUse: ReadonlySet<string> },
  signal: AbortSignal,
): Promise<void> {
  const limit = Number(owner.spec?.revisionHistoryLimit ?? HISTORY_DEFAULT);
  const unused = all.slice(0, -1).filter((one) => !inUse.has(labelOf(one)));
  for (const { metadata } of unused.slice(0, Math.max(0, unused.length - limit))) {
    const { namespace = "", name = "", uid = "" } = metadata;
    const options = { uid, propagationPolicy: "Background" } as const;
    const resource = objects.resource("apps", "controllerrevisions");
    await objects.remove(resource, { namespace, name }, options, signal);
  }
}

export function labelOf({ metadata }: ApiObject): string {
  return metadata.labels?.[REVISION_LABEL] ?? "";
}

function byNumber(a: Revision, b: Revision): number {
  return Number(a.revision ?? 0) - Number(b.revision ?? 0);
}
