/**
 * Says about the source what compiler and linter cannot: which folder may
 * import which, no import cycles, a header in every file, no state in modules, and that one module
 * alone spells the vendor's name. Runs over the TypeScript files, not over what was emitted.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

/**
 * The layers, lowest first. A file imports its own folder and lower layers; folders of one layer are
 * strangers to each other. A subfolder belongs to the nearest folder above it that is listed here.
 */
const LAYERS: readonly (readonly string[])[] = [
  ["storage/base"],
  ["storage/kv", "storage/x509"],
  ["storage/etcd", "storage/embedded", "storage/encryption", "storage/objects"],
  ["storage/cache"],
  ["server/api"],
  ["server/schema"],
  ["server/apply", "server/cel", "server/codec", "server/types"],
  ["server/structural"],
  ["server/certificates", "server/outbound"],
  ["server/request"],
  ["server/client", "server/kinds", "server/response"],
  [
    "server/admission",
    "server/audit",
    "server/authn",
    "server/authz",
    "server/flowcontrol",
    "server/tracing",
  ],
  ["server/metrics", "server/registry/generic"],
  ["server/registry"],
  ["server/endpoints"],
  [
    "server/aggregation",
    "server/connect",
    "server/controllers",
    "server/definitions",
    "server/recorder",
    "server/test-api",
  ],
  ["server/http", "server/simulation"],
  ["server/chain"],
  ["server/control-planes"],
  ["server/config"],
  ["server/explain", "server/wiring"],
  ["server/fresh-api"],
  ["server/commands"],
  ["server/console"],
  ["server"],
];

/** Files that may spell a vendor although they are neither tests nor naming.ts, each with why. */
const VENDOR_ALLOWED: Readonly<Record<string, string>> = {
  "server/certificate-hook.ts":
    "writes Secrets of the existing cluster that Keelson is installed in",
  "server/types/load-facts.ts": "translates the facts' spellings into those of Naming",
};

/** Spellings of the default vendor that are identifiers on the wire rather than prose. */
const VENDOR_SPELLINGS = /k8s\.io|kubernetes\.io|kube-(?:system|public|node-lease)|vnd\.kubernetes/;

/** A list of problems that takes as many as there are. */
const UNBOUNDED_PROBLEMS =
  /FieldError(?:\[\]|>)\s*=(?!>)(?!\s*new Problems\(\))|\[\] as FieldError\[\]|new Array<FieldError>|\b(?:errors|problems) = \[\];/;

/** Files that collect problems otherwise, each with why. */
const PROBLEMS_ALLOWED: Readonly<Record<string, string>> = {
  "server/api/status.ts": "keeps of a list of problems what fits into an answer",
};

/** Files that encode objects as they are stored, and store nothing; each with why. */
const ENCODES_ALLOWED: Readonly<Record<string, string>> = {
  "server/registry/stored-versions.ts": "reads older values as they would be stored today",
};

/** Files that read JSON with the platform's parser, which rounds integers beyond 2^53; each with what it reads. */
const ROUNDING_ALLOWED: Readonly<Record<string, string>> = {
  "server/admission/pod-toleration-restriction.ts":
    "tolerations in an annotation of a namespace, whose seconds are judged as the pod's",
  "server/admission/service-account.ts": "names in service accounts",
  "server/admission/webhooks/review.ts":
    "a webhook's answer: its patch is a text, which is parsed by itself",
  "server/aggregation/api-services.ts": "names, groups and priorities below 20,000",
  "server/aggregation/remote-documents.ts": "discovery of other servers: names and verbs",
  "server/audit/audit-recorder.ts": "whether a body is JSON at all",
  "server/authn/bootstrap-token.ts": "texts of Secrets",
  "server/authn/jwt/issuer-keys.ts": "keys of issuers",
  "server/authn/jwt/token.ts": "the claimed issuer",
  "server/authn/service-account/bound-objects.ts": "uids and times",
  "server/authn/service-account/compact-token.ts": "claims, whose numbers are times",
  "server/authz/abac.ts": "lines of a policy, which are texts and flags",
  "server/authz/node/claimed-volumes.ts": "names of volumes",
  "server/authz/node/node-authorizer.ts": "names of nodes",
  "server/authz/node/node-pods.ts": "names that pods refer to",
  "server/authz/rbac/rbac-index.ts": "subjects and roles: texts",
  "server/authz/rbac/role-index.ts": "rules of roles: texts",
  "server/wiring/build-info.ts": "our own package.json",
  "server/certificate-hook.ts": "texts of Secrets",
  "server/client/exec-credentials.ts": "credentials: texts",
  "server/client/review-client.ts": "answers of authenticators and authorizers: texts and flags",
  "server/codec/json.ts": "strings",
  "server/codec/protobuf-transcode.ts": "strings",
  "server/connect/targets.ts": "ports and addresses of nodes and pods",
  "server/connect/translate.ts": "a Status, whose numbers are small",
  "server/controllers/authentication-trust.ts": "names in a ConfigMap",
  "server/controllers/detached-jws.ts": "the header of a signature",
  "server/controllers/stored-metadata.ts": "metadata, of which loops read names, uids and times",
  "server/wiring/create-logger.ts": "our own lines",
  "server/endpoints/continue-token.ts": "our own tokens, whose revisions are texts",
  "server/endpoints/openapi/openapi.ts": "our own list of documents",
  "server/endpoints/representations/status-encoder.ts": "our own Status",
  "server/endpoints/tables/cells.ts":
    "built-in kinds: the numbers of their columns have 32 bits, or count",
  "server/endpoints/tables/data-tables.ts": "the type of a Secret",
  "server/endpoints/tables/pods.ts": "built-in kind: its columns count containers and restarts",
  "server/outbound/services.ts": "ports and addresses of services",
  "server/recorder/peers.ts": "records, whose revisions are texts",
  "server/recorder/record-lines.ts": "our own lines, whose numbers are safe integers and times",
  "server/registry/autoscaling/conversion.ts":
    "annotations of autoscalers, whose quantities are texts",
  "server/registry/core/configuration.ts": "texts of registry credentials",
  "server/schema/json-parser.ts": "strings",
  "server/schema/parse-json.ts": "the place",
  "server/types/load-facts.ts": "our own facts",
  "server/types/parse-types.ts": "our own facts",
  "server/wiring/flow-control.ts": "shares and queues of 32 bits",
  "storage/embedded/add-checksums.ts": "our own progress",
  "storage/etcd/member-identity.ts": "identities, which are texts",
  "storage/objects/stored-text.ts":
    "metadata and fields; kinds with integers to select by bring their own parser",
  "storage/objects/with-metadata.ts": "names of members",
};

interface SourceFile {
  /** From the repository's root, such as "server/api/names.ts". */
  readonly path: string;
  readonly text: string;
  /** The text without comments. */
  readonly code: string;
  readonly isTest: boolean;
  /** Paths of the files of ours that it imports. */
  readonly imports: readonly string[];
}

const root = findRoot();
const files = ["storage", "server", "e2e"].flatMap(readFolder);
const byPath = new Map(files.map((file) => [file.path, file]));
/** Tests, contract suites and e2e/ import what they want: nothing is built upon them. */
const layered = files.filter((file) => !file.isTest && !file.path.startsWith("e2e/"));

test("every folder has a rank", () => {
  expectNone(
    files.filter((file) => !file.path.startsWith("e2e/") && layerOf(file.path) === undefined),
    (file) => `${file.path}: its folder is in no layer; add it to LAYERS in server/tidy.test.ts`,
  );
});

test("docs/dev/architecture.md has the layers as they are enforced, and all of them exist", () => {
  const page = readFileSync(join(root, "docs/dev/architecture.md"), "utf8");
  const documented = [...page.matchAll(/^\| (\d+) \| (`[^|]+) \|/gm)].map(([, rank, folders]) => ({
    rank: Number(rank),
    folders: [...String(folders).matchAll(/`([^`]+)`/g)].map(([, folder]) => String(folder)).sort(),
  }));
  const enforced = LAYERS.map((folders, rank) => ({ rank, folders: [...folders].sort() }));
  assert.deepEqual(documented, enforced);
  expectNone(
    LAYERS.flat().filter((folder) => !files.some(({ path }) => layerOf(path)?.folder === folder)),
    (folder) => `${folder} has no files: take it off LAYERS`,
  );
});

test("a file imports its own folder and lower ranks only", () => {
  const findings = layered.flatMap((file) => file.imports.map((target) => ({ file, target })));
  // What is in testing/ serves tests only, as the harness does.
  const isOfTests = (path: string, target: string) =>
    path.includes("/testing/") && target.startsWith("e2e/harness/");
  expectNone(
    findings.filter(
      ({ file: { path }, target }) => !mayImport(path, target) && !isOfTests(path, target),
    ),
    ({ file, target }) => `${file.path} imports ${target}: not its own folder, not a lower rank`,
  );
});

test("what runs in production imports no test, nothing of testing/ and nothing of e2e/", () => {
  const isForTests = (path: string) => /^e2e\/|\/testing\/|\.(?:test|bench)\.ts$/.test(path);
  expectNone(
    layered
      .filter((file) => !isForTests(file.path))
      .flatMap((file) => file.imports.filter(isForTests).map((path) => [file.path, path])),
    ([from, to]) => `${from} imports ${to}`,
  );
});

test("problems of clients' values are collected in Problems, which ends the finding of them", () => {
  expectNone(
    files.filter(({ path, isTest, code }) => {
      return !isTest && UNBOUNDED_PROBLEMS.test(code) && PROBLEMS_ALLOWED[path] === undefined;
    }),
    ({ path }) => `${path} collects problems in a plain list: use new Problems() (api/problems.ts)`,
  );
});

test("H4: bodies of requests become values in request-body.ts and json-body.ts only, whose functions count them", () => {
  expectNone(
    files.filter(({ path, isTest, code }) => {
      const readsBodies = /\bread(?:Body|Bytes|Object)\(/.test(code);
      const isHandler =
        path.startsWith("server/endpoints/") && !/\/(?:request|json)-body\.ts$/.test(path);
      const parses = /\bparse(?:Json|Written|Long|Exactly|Yaml|Cbor)\(/.test(code);
      return isHandler && !isTest && readsBodies && parses;
    }),
    ({ path }) =>
      `${path} parses a body itself: use the functions of request-body.ts (decision 77)`,
  );
});

test("D11: JSON is read by parseJson, which keeps every digit, but where no integer is long", () => {
  const rounding = files.filter(({ path, isTest, code }) => {
    const isOurs = path.startsWith("server/") || path.startsWith("storage/");
    return isOurs && !isTest && !path.includes("/testing/") && /\bJSON\.parse\b/.test(code);
  });
  expectNone(
    rounding.filter(({ path }) => ROUNDING_ALLOWED[path] === undefined),
    ({ path }) => `${path} uses JSON.parse: use parseJson (schema/parse-json.ts)`,
  );
  const used = new Set(rounding.map(({ path }) => path));
  expectNone(
    Object.keys(ROUNDING_ALLOWED).filter((path) => !used.has(path)),
    (path) => `${path} does not use JSON.parse: take it off ROUNDING_ALLOWED`,
  );
});

test("objects to be stored become bytes in one place", () => {
  const makesBytes = /\bstoredCodec\.encode\(/;
  expectNone(
    files
      .filter(({ path, isTest, code }) => {
        const isPlace = path === "server/registry/write/stored-bytes.ts";
        return (
          !isTest &&
          !isPlace &&
          path.startsWith("server/registry/") &&
          !path.includes("/testing/") &&
          makesBytes.test(code)
        );
      })
      .filter(({ path }) => ENCODES_ALLOWED[path] === undefined),
    ({ path }) => `${path} encodes an object to be stored: use storedBytes (stored-bytes.ts)`,
  );
});

test("imports have no cycles, those of types included, and lead to files that exist", () => {
  const findings = files.flatMap((file) =>
    file.imports
      .filter((target) => !byPath.has(target))
      .map((target) => `${file.path} imports ${target}, which does not exist`),
  );
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]) => {
    const start = trail.indexOf(path);
    if (start >= 0) findings.push(`cycle: ${[...trail.slice(start), path].join(" -> ")}`);
    if (start >= 0 || done.has(path)) return;
    for (const target of byPath.get(path)?.imports ?? []) walk(target, [...trail, path]);
    done.add(path);
  };
  for (const { path } of files) walk(path, []);
  expectNone(findings, (text) => text);
});

test("every source file opens with a block that says what it is", () => {
  // The unit test of a file is about what that file's header says.
  const isOfFile = (path: string) => byPath.has(path.replace(/\.test\.ts$/, ".ts"));
  expectNone(
    files.filter(
      ({ path, text, isTest }) =>
        !/^(?:#!.*\n)?\/\*\*(?:\n \*)? \S/.test(text) && !(isTest && isOfFile(path)),
    ),
    ({ path }) => `${path}: begins with something else than a /** header block`,
  );
});

test("no module has state, a default export or a re-export; no test is left on .only", () => {
  const rules: readonly (readonly [RegExp, string])[] = [
    [/^(?:export )?(?:let|var) /m, "module-level let: state lives in objects built by wiring"],
    [/^export default /m, "export default: name what you export"],
    [/^export \*|^export (?:type )?\{[^}]*\} from "\.\.\//m, "barrel: import from where it is"],
    [/\b(?:test|it|describe|suite)\.only\(|\bonly: true\b/, "a test is left on .only"],
  ];
  expectNone(
    files.flatMap(({ path, code }) =>
      rules.filter(([pattern]) => pattern.test(code)).map(([, why]) => `${path}: ${why}`),
    ),
    (text) => text,
  );
});

test("a TODO has an owner: TODO(name) or TODO(#issue)", () => {
  expectNone(
    files.filter(
      ({ path, text }) =>
        !path.endsWith("tidy.test.ts") && /\b(?:TODO|FIXME|XXX)\b(?!\(\S+\))/.test(text),
    ),
    ({ path }) => `${path}: a TODO without an owner`,
  );
});

test("comments point at pages that are part of the repository", () => {
  expectNone(
    files.filter(
      ({ path, text }) => !path.endsWith("tidy.test.ts") && /\b(?:DESIGN|STYLE)\b/.test(text),
    ),
    ({ path }) => `${path} names a page that readers do not have`,
  );
  expectNone(
    files.flatMap(({ path, text }) =>
      [...text.matchAll(/\bdocs\/[a-z][\w./-]*\.md\b/g)]
        .map(([page]) => page)
        .filter((page) => !existsSync(join(root, page)))
        .map((page) => ({ path, page })),
    ),
    ({ path, page }) => `${path} names ${page}, which does not exist`,
  );
});

test("comments name files that are there", () => {
  const comments = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;
  const all = files.map(({ path }) => `/${path}`);
  expectNone(
    files.flatMap(({ path, text }) =>
      [...text.matchAll(comments)]
        .flatMap(([comment]) => [...comment.matchAll(/(?<![\w./-])[a-z][\w./-]*\.tsx?\b/g)])
        .map(([name]) => ({ path, name }))
        .filter(({ name }) => !all.some((file) => file.endsWith(`/${name}`))),
    ),
    ({ path, name }) => `${path} names ${name}, which does not exist`,
  );
});

test("server/api/naming.ts alone spells a vendor", () => {
  const offenders = layered.flatMap(({ path, code }) => {
    const found = VENDOR_SPELLINGS.exec(code);
    return found === null ? [] : [{ path, spelling: found[0] }];
  });
  const exempt = new Set(["server/api/naming.ts", ...Object.keys(VENDOR_ALLOWED)]);
  expectNone(
    offenders.filter(({ path }) => !exempt.has(path)),
    ({ path, spelling }) => `${path} spells ${spelling}: take it from Naming`,
  );
  expectNone(
    Object.keys(VENDOR_ALLOWED).filter((path) => offenders.every((o) => o.path !== path)),
    (path) => `${path} spells no vendor any more: take it off VENDOR_ALLOWED`,
  );
});

test("deploy/bundle.mjs names every part of undici that is used: others are undefined in the bundle", () => {
  const bundle = readFileSync(join(root, "deploy/bundle.mjs"), "utf8");
  const bundled = [...bundle.matchAll(/^exports\.(\w+) = /gm)].map(([, name]) => name);
  const used = layered.flatMap(({ path, text }) =>
    [...text.matchAll(/^import \{([^}]*)\} from "undici";/gm)]
      .flatMap(([, names = ""]) => names.split(",").map((name) => name.trim()))
      .filter((name) => name !== "" && !name.startsWith("type "))
      .map((name) => ({ path, name })),
  );
  assert.ok(used.length > 0, "undici is imported somewhere");
  expectNone(
    used.filter(({ name }) => !bundled.includes(name)),
    ({ path, name }) => `${path} imports ${name}, which the bundle leaves out`,
  );
});

test("docs/dev/invariants.md names every invariant that is asserted, and files that exist", () => {
  const page = readFileSync(join(root, "docs/dev/invariants.md"), "utf8");
  const asserted = layered.flatMap(({ path, code }) =>
    [...code.matchAll(/\bassert\([^;]*?,\s*"([A-Z][A-Za-z]+)",?\s*\)/g)].map(([, name]) => ({
      path,
      name: String(name),
    })),
  );
  const rows = [...page.matchAll(/^\| \*\*(\w+)\*\* \|[^|]*\|([^|]*)\|/gm)].map(
    ([, name, cell]) => ({ name: String(name), cell: String(cell) }),
  );
  assert.ok(rows.length > 50);
  expectNone(
    asserted.filter(
      ({ path, name }) =>
        !rows.some((row) => row.name === name && row.cell.includes(`\`${path}\``)),
    ),
    ({ path, name }) => `docs/dev/invariants.md: ${name} is asserted in ${path}`,
  );
  const claimed = rows
    .filter(({ cell }) => !cell.startsWith(" follows from "))
    .flatMap(({ name, cell }) =>
      [...cell.matchAll(/`([^`]+\.ts)`/g)].map(([, path]) => ({ name, path })),
    );
  expectNone(
    claimed.filter(
      (one) => !asserted.some(({ path, name }) => name === one.name && path === one.path),
    ),
    ({ name, path }) => `docs/dev/invariants.md: ${path} does not assert ${name}`,
  );
  expectNone(
    [...page.matchAll(/`((?:storage|server|e2e)\/[^`]+\.ts)`/g)].filter(
      ([, path]) => !byPath.has(String(path)),
    ),
    ([path]) => `docs/dev/invariants.md names ${path}, which does not exist`,
  );
});

for (const path of [
  "docs/dev/thread.md",
  "docs/dev/decisions/0154-each-stage-of-a-write-has-its-bound.md",
]) {
  test(`${path} has the constants as they are`, () => {
    const page = readFileSync(join(root, path), "utf8");
    const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| ([^|]+) \| `([^`]+)` \|/gm)];
    assert.ok(rows.length > 15);
    expectNone(
      rows.filter(([, name, value, file]) => {
        const code = byPath.get(String(file))?.code.replace(/^(export const \w+): \w+ =/gm, "$1 =");
        return code?.includes(`const ${name} = ${value};`) !== true;
      }),
      ([, name, value, file]) => `${path}: ${file} has no \`const ${name} = ${value};\``,
    );
  });
}

test("docs/dev/decisions/README.md lists every decision under its title", () => {
  const folder = join(root, "docs/dev/decisions");
  const index = readFileSync(join(folder, "README.md"), "utf8");
  const decisions = readdirSync(folder)
    .filter((name) => name !== "README.md")
    .map((name) => {
      const [, number, title] =
        /^# (\d{4}): (.+)$/m.exec(readFileSync(join(folder, name), "utf8")) ?? [];
      return { name, line: `- [${number}](${name}) ${title}`, number };
    });
  expectNone(
    decisions.filter(({ name, number }) => number !== name.slice(0, 4)),
    ({ name }) => `docs/dev/decisions/${name} does not begin with "# ${name.slice(0, 4)}: title"`,
  );
  expectNone(
    decisions.filter(({ line }) => !index.includes(`${line}\n`)),
    ({ line }) => `docs/dev/decisions/README.md has no line: ${line}`,
  );
});

function expectNone<T>(findings: readonly T[], describe: (finding: T) => string): void {
  assert.equal(findings.length, 0, `\n  ${findings.map(describe).join("\n  ")}`);
}

function layerOf(path: string): { folder: string; rank: number } | undefined {
  for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) {
    const rank = LAYERS.findIndex((layer) => layer.includes(folder));
    // "server" is a layer of its own files only: a folder below it must be listed itself.
    if (rank >= 0 && (folder !== "server" || dirname(path) === "server")) return { folder, rank };
  }
  return undefined;
}

function mayImport(from: string, to: string): boolean {
  const [importer, imported] = [layerOf(from), layerOf(to)];
  if (importer === undefined || imported === undefined) return false;
  return importer.folder === imported.folder || imported.rank < importer.rank;
}

function readFolder(folder: string): SourceFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => readSource(join(entry.parentPath, entry.name)));
}

function readSource(absolute: string): SourceFile {
  const path = relative(root, absolute);
  const text = readFileSync(absolute, "utf8");
  // Line comments only where no string can be open: "https://x" must stay.
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$|\s\/\/ .*$/gm, "");
  const statements = [...code.matchAll(/\b(?:import|export)\b[^"';]*?\(?\s*"(\.[^"]+)"/g)];
  return {
    path,
    text,
    code,
    isTest: path.endsWith(".test.ts") || path.includes("/contract/"),
    imports: statements.map(([, specifier]) => {
      const target = join(dirname(path), String(specifier)).replace(/\.js$/, ".ts");
      return existsSync(join(root, `${target}x`)) ? `${target}x` : target;
    }),
  };
}

/** The repository: the nearest folder above this file that holds tsconfig.json. */
function findRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "tsconfig.json"))) folder = dirname(folder);
  return folder;
}

test("docs/dev/requirements.md has every id that a test names, and says of every other one why it is open", () => {
  const [ledger = "", open = ""] = readFileSync(
    join(root, "docs/dev/requirements.md"),
    "utf8",
  ).split(/^## Open$/m);
  const known = new Set(
    [...ledger.matchAll(/^\| ((?:S[12]-[A-Z0-9]+|CARD)-\d+) \|/gm)].map(([, id]) => id ?? ""),
  );
  assert.ok(known.size > 500);
  const proofs = files.filter((file) => file.isTest || file.path.startsWith("e2e/"));
  const named = new Set(proofs.flatMap(({ text }) => requirementsIn(text)));
  const waiting = new Set(requirementsIn(open));
  expectNone(
    [...named, ...waiting].filter((id) => !known.has(id)),
    (id) => `${id} is unknown`,
  );
  expectNone(
    [...known].filter((id) => named.has(id) === waiting.has(id)),
    (id) => `${id} is ${named.has(id) ? "named by a test, and not open" : "open, and not listed"}`,
  );
});

/** All ids in a text; "S1-RV-01..03" are three. */
function requirementsIn(text: string): string[] {
  const ids = text.matchAll(/\b(S[12]-[A-Z0-9]+|CARD)-(\d+)(?:\.\.(?:\1-)?(\d+))?/g);
  return [...ids].flatMap(([, group = "", first = "", last = first]) =>
    Array.from(
      { length: Number(last) - Number(first) + 1 },
      (_, index) => `${group}-${String(Number(first) + index).padStart(2, "0")}`,
    ),
  );
}
