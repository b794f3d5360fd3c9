/** Attacks by reading: selectors, lists, watches, documents, long queries. */
import { type Attack, NAMESPACE } from "./attack.js";

const MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
/** Node reads headers of 64 KiB at most here, so longer queries are refused before they are read. */
const terms = (count: number, term: (at: number) => string) =>
  encodeURIComponent(Array.from({ length: count }, (_, at) => term(at)).join(","));

export const QUERY_ATTACKS: readonly Attack[] = [
  {
    name: "lists of 300 objects by 5,000 terms",
    isShort: true,
    run: async (attacker) => {
      const selector = terms(5_000, (at) => `!a${at}`);
      await attacker.many(40, 20, () => attacker.send(`${MAPS}?labelSelector=${selector}`));
    },
  },
  {
    name: "lists by sets of 8,000 values",
    run: async (attacker) => {
      const values = Array.from({ length: 8_000 }, (_, at) => `v${at}`).join(",");
      const selector = encodeURIComponent(`app notin (${values})`);
      await attacker.many(40, 20, () => attacker.send(`${MAPS}?labelSelector=${selector}`));
    },
  },
  {
    name: "lists by 5,000 field terms",
    run: async (attacker) => {
      const selector = terms(2_500, (at) => `metadata.name!=n${at}`);
      await attacker.many(40, 20, () => attacker.send(`${MAPS}?fieldSelector=${selector}`));
    },
  },
  {
    name: "740 watches with 1,500 terms",
    isShort: true,
    run: async (attacker) => {
      const selector = terms(1_500, (at) => `!a${at}`);
      await attacker.many(740, 60, () =>
        attacker.send(`${MAPS}?watch=1&timeoutSeconds=1&labelSelector=${selector}`),
      );
    },
  },
  {
    name: "400 watches beside writes of large objects",
    run: async (attacker) => {
      const body = JSON.stringify({ data: { text: "y".repeat(200_000) } });
      await Promise.all([
        attacker.many(400, 400, () => attacker.send(`${MAPS}?watch=1&timeoutSeconds=4`)),
        attacker.many(10, 1, () => attacker.patch(`${MAPS}/many-1`, "merge-patch+json", body)),
      ]);
    },
  },
  {
    name: "streaming lists, 200 at a time",
    run: (attacker) =>
      attacker.many(200, 100, () =>
        attacker.send(
          `${MAPS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1`,
        ),
      ),
  },
  {
    name: "deletions of nothing by 5,000 terms",
    run: (attacker) =>
      attacker.many(20, 10, () =>
        attacker.send(`${MAPS}?dryRun=All&labelSelector=${terms(5_000, (at) => `b${at}`)}`, {
          method: "DELETE",
        }),
      ),
  },
  {
    name: "lists as Tables, gzip",
    run: (attacker) =>
      attacker.many(200, 40, () =>
        attacker.send(MAPS, {
          headers: {
            accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
            "accept-encoding": "gzip",
          },
        }),
      ),
  },
  {
    name: "pages of one",
    run: (attacker) => attacker.many(1_000, 50, () => attacker.send(`${MAPS}?limit=1`)),
  },
  {
    name: "continue tokens of 30 KB",
    run: (attacker) =>
      attacker.many(200, 20, () => attacker.send(`${MAPS}?limit=1&continue=${"A".repeat(30_000)}`)),
  },
  {
    name: "OpenAPI documents in all forms",
    isShort: true,
    run: async (attacker) => {
      const types = [
        "application/json",
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
        "*/*",
      ];
      await attacker.many(30, 10, (at) =>
        attacker.send("/openapi/v2", {
          headers: {
            accept: types[at % types.length] ?? "",
            "accept-encoding": at % 2 ? "gzip" : "",
          },
        }),
      );
    },
  },
  {
    name: "a query of 20,000 parameters",
    run: (attacker) =>
      attacker.many(100, 20, () => attacker.send(`${MAPS}?${"a=1&".repeat(10_000)}`)),
  },
  {
    name: "paths of 60,000 letters",
    run: (attacker) => attacker.many(100, 20, () => attacker.send(`/${"a/".repeat(25_000)}`)),
  },
  {
    name: "tokens of 15 KB that nobody issued",
    run: (attacker) => {
      const token = `${"a".repeat(5_000)}.${"b".repeat(5_000)}.${"c".repeat(5_000)}`;
      return attacker.many(300, 30, () =>
        attacker.send(MAPS, { headers: { authorization: `Bearer ${token}` } }),
      );
    },
  },
  {
    name: "writes that wait for a webhook which never answers",
    run: (attacker) =>
      attacker.many(100, 50, (at) =>
        attacker.post(
          `/api/v1/namespaces/${NAMESPACE}/podtemplates`,
          JSON.stringify({
            metadata: { name: `t${at}` },
            template: { spec: { containers: [{ name: "c", image: "i" }] } },
          }),
        ),
      ),
  },
];
