/** The operator of sites: a list and a watch, owned objects, a status and a finalizer. It speaks to one API, or one fork. */
import type { HttpsClient } from "../harness/https-client.js";
import { FINALIZER, PAGES, SITES, type Site } from "./sites.js";

export interface SiteOperator extends AsyncDisposable {
  /** Names of sites whose address was given back, in order. */
  readonly freed: readonly string[];
}

export function startSiteOperator(client: HttpsClient): SiteOperator {
  const ending = new AbortController();
  const freed: string[] = [];
  const running = run(client, freed, ending.signal).catch((error: unknown) => {
    if (!ending.signal.aborted) throw error;
  });
  return {
    freed,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await running;
    },
  };
}

async function run(client: HttpsClient, freed: string[], signal: AbortSignal): Promise<void> {
  const list = (await client.get(SITES)).expect(200).object;
  for (const one of list.items as Site[]) await reconcile(client, one, freed);
  const { resourceVersion = "" } = list.metadata;
  const events = await client.watch(`${SITES}?watch=1&resourceVersion=${resourceVersion}`, signal);
  for await (const { type, object } of events) {
    if (type === "ADDED" || type === "MODIFIED") await reconcile(client, object as Site, freed);
  }
}

async function reconcile(client: HttpsClient, seen: Site, freed: string[]): Promise<void> {
  const { name = "" } = seen.metadata;
  const answer = await client.get(`${SITES}/${name}`);
  if (answer.status === 404) return;
  const { metadata, spec, status } = answer.expect(200).object as Site;
  const { finalizers = [], generation = 0, uid = "" } = metadata;
  const patch = (path: string, body: object) => client.patch(path, body);
  if (metadata.deletionTimestamp !== undefined) {
    if (!finalizers.includes(FINALIZER)) return;
    freed.push(name);
    const others = finalizers.filter((one) => one !== FINALIZER);
    (await patch(`${SITES}/${name}`, { metadata: { finalizers: others } })).expect(200);
    return;
  }
  if (!finalizers.includes(FINALIZER)) {
    const body = { metadata: { finalizers: [...finalizers, FINALIZER] } };
    (await patch(`${SITES}/${name}`, body)).expect(200);
    return;
  }
  if (status?.observedGeneration === generation) return;
  const owner = { apiVersion: "example.test/v1", kind: "Site", name, uid, controller: true };
  for (let page = 0; page < spec.pages; page++) {
    const body = {
      metadata: { name: `${name}-${page}`, labels: { site: name }, ownerReferences: [owner] },
      data: { host: String(spec.host) },
    };
    const made = await client.post(PAGES, body);
    if (made.status !== 409) made.expect(201);
  }
  const pages = (await client.get(`${PAGES}?labelSelector=site%3D${name}`)).expect(200).items;
  for (const page of pages) {
    const number = Number(page.metadata.name?.slice(name.length + 1));
    if (number >= spec.pages) await client.delete(`${PAGES}/${page.metadata.name}`);
  }
  const next = { status: { ready: spec.pages, observedGeneration: generation } };
  const written = await patch(`${SITES}/${name}/status`, next);
  if (written.status !== 404) written.expect(200);
}
