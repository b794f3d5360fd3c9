/** Where attacks with rare content go, and how their bodies are made. */
import { NAMESPACE } from "./attack.js";

export const CORE = `/api/v1/namespaces/${NAMESPACE}`;
export const MAPS = `${CORE}/configmaps`;
export const MAP = `${MAPS}/many-0`;
export const THINGS = `/apis/adversary.example.com/v1/namespaces/${NAMESPACE}/things`;
export const DRY = "?dryRun=All";
export const meta = `"metadata":{"name":"x"}`;
export const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);
