/** The program of YamlReader's worker threads: each message is a text, each answer what it means. */
import { parentPort } from "node:worker_threads";
import { stringifyJson } from "./json.js";
import { parseYaml, type YamlResult, YamlSyntaxError } from "./yaml.js";

/** What a worker answers: the value as bytes, as one of many members would be taken over in one turn of 30 ms. */
export type YamlAnswer =
  | (Omit<YamlResult, "value"> & { readonly json: Uint8Array<ArrayBuffer> })
  | { readonly problem: string };

function answer(text: string): YamlAnswer {
  try {
    const { value, ...repeated } = parseYaml(text);
    return { ...repeated, json: new TextEncoder().encode(stringifyJson(value)) };
  } catch (error) {
    if (error instanceof YamlSyntaxError) return { problem: error.message };
    throw error;
  }
}

parentPort?.on("message", (text: string) => {
  const answered = answer(text);
  parentPort?.postMessage(answered, "json" in answered ? [answered.json.buffer] : []);
});
