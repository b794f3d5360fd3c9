/**
 * What servers that one process starts one after the other have alike, by what it depends on: types and codecs, resources,
 * documents, and the objects that they begin with. The first one makes it; nothing in it is of one server alone.
 */

import type { Config } from "../config/config.js";
import type { FlagKey } from "../config/flags.js";
import { DefaultContent } from "../control-planes/default-content.js";
import { type CustomCodecs, createCustomCodecs } from "../definitions/custom-codec.js";
import type { SharedDocuments } from "../endpoints/openapi/openapi.js";
import type { KindCodecs } from "../kinds/kind-codec.js";
import type { SharedResources } from "../registry/built-in-catalog.js";
import type { Facts } from "../schema/model.js";
import { loadFacts } from "../types/load-facts.js";
import { createCodecs } from "./access.js";

export interface Alike {
  readonly facts: Facts;
  readonly codecs: KindCodecs;
  /** Of custom kinds; what is alike is compiled once. */
  readonly customCodecs: CustomCodecs;
  readonly builtIn: SharedResources;
  readonly openApiShared: SharedDocuments;
  readonly defaults: DefaultContent;
  /** What they depend on. */
  readonly basis: string;
}

export class AlikeParts {
  /** Most tests start one kind of server; another one takes its place. */
  #last: Alike | undefined;

  of(config: Config): Alike {
    const basis = basisOf(config);
    if (this.#last?.basis !== basis) this.#last = makeAlike(config, basis);
    return this.#last;
  }
}

/** Of a server that is the only one. */
export function makeAlike(config: Config, basis = ""): Alike {
  const facts = loadFacts(config.naming);
  return {
    facts,
    codecs: createCodecs(config, facts),
    customCodecs: createCustomCodecs(facts),
    builtIn: new Map(),
    openApiShared: new Map(),
    defaults: new DefaultContent(),
    basis,
  };
}

/** The flags that were given, without places. */
function basisOf(config: Config): string {
  const given = [...config.given].filter((key) => !PLACES.has(key)).sort();
  return JSON.stringify(given.map((key) => [key, config[key]]));
}

/** Each server has its own, and nothing of them is in what is alike. */
const PLACES: ReadonlySet<FlagKey> = new Set(["dataDir", "tokenAuthFile", "simulationFile"]);
