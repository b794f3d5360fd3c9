/**
 * BundledScripts: runs the scripts of the bundle, and keeps what V8 compiled of them for later starts. The
 * bundle is four megabytes of text; reading it and compiling what a start uses is a quarter of a start.
 *
 *   dist/bundle/main.js                                       runs ./main-3F2A.cjs, which requires the others
 *   dist/bundle/chunk-AAC2.cjs                                the text, named after its content
 *   dist/bundle/compiled/chunk-AAC2.cjs-v20.20.2-1873925620   a SHA-256, then what this V8 made of it
 *
 * What is kept holds for one V8 with its flags, and is as trusted as the bundle. If it is damaged, the text
 * is compiled. Where the folder cannot be written, nothing is kept.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedDataVersionTag } from "node:v8";
import { Script } from "node:vm";

interface Module {
  exports: unknown;
}

/** What the text of each script evaluates to (deploy/bundle.mjs). */
type Body = (
  exports: unknown,
  require: (id: string) => unknown,
  module: Module,
  url: string,
) => void;

/** Shorter scripts are compiled as fast as they are read. */
const KEPT_CHARS_MIN = 16 * 1024;
/** V8 itself only looks at the head of what it is given. */
const DIGEST = "sha256";
const DIGEST_BYTES = 32;

export class BundledScripts {
  readonly #url: string;
  readonly #folder: string;
  readonly #kept: string;
  readonly #requireOther: NodeJS.Require;
  readonly #modules = new Map<string, Module>();
  /** Scripts of which nothing, or nothing that holds, was kept. */
  readonly #compiled = new Map<string, Script>();

  /**
   * @param url of a file beside the scripts
   * @param kept the folder for what V8 compiled; default: one beside the scripts
   */
  constructor(url: string, kept = process.env.NODE_COMPILE_CACHE) {
    this.#url = url;
    this.#folder = dirname(fileURLToPath(url));
    this.#kept = kept || join(this.#folder, "compiled");
    this.#requireOther = createRequire(url);
  }

  /** Runs a script, if it has not been run; returns its exports. @param name "./main-3F2A.cjs" */
  require(name: string): unknown {
    const known = this.#modules.get(name);
    if (known !== undefined) return known.exports;
    const module: Module = { exports: {} };
    this.#modules.set(name, module);
    const body = this.#compile(name).runInThisContext() as Body;
    body(module.exports, (id) => this.#find(id), module, this.#url);
    return module.exports;
  }

  /**
   * Keeps all that V8 has compiled by now of those scripts of which nothing was kept. V8 compares its flags with
   * those of the next start: call it before they are changed.
   */
  keep(): void {
    for (const [path, script] of this.#compiled) {
      const temporary = `${path}.${process.pid}`;
      try {
        mkdirSync(this.#kept, { recursive: true });
        const code = script.createCachedData();
        writeFileSync(temporary, Buffer.concat([digestOf(code), code]));
        renameSync(temporary, path);
      } catch {
        // The next start compiles as this one did.
      }
    }
    this.#compiled.clear();
  }

  #find(id: string): unknown {
    return id.startsWith("./") ? this.require(id) : this.#requireOther(id);
  }

  #compile(name: string): Script {
    const filename = join(this.#folder, name);
    // The bundle is ASCII, which V8 keeps in one byte a character.
    const text = readFileSync(filename, "latin1");
    if (text.length < KEPT_CHARS_MIN) return new Script(text, { filename });
    const path = join(this.#kept, `${name}-${process.version}-${cachedDataVersionTag()}`);
    const cachedData = readKept(path);
    const script = new Script(text, { filename, ...(cachedData && { cachedData }) });
    if (cachedData === undefined || script.cachedDataRejected === true) {
      this.#compiled.set(path, script);
    }
    return script;
  }
}

function readKept(path: string): Buffer | undefined {
  let kept: Buffer;
  try {
    kept = readFileSync(path);
  } catch {
    return undefined;
  }
  const code = kept.subarray(DIGEST_BYTES);
  return digestOf(code).equals(kept.subarray(0, DIGEST_BYTES)) ? code : undefined;
}

function digestOf(code: Buffer): Buffer {
  return createHash(DIGEST).update(code).digest();
}
