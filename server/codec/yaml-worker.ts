/** The program of YamlReader's worker threads: each message is a text, each answer what it means. */
import { parentPort } from "node:worker_threads";
import { parseYaml, type YamlResult, YamlSyntaxError } from "./yaml.js";

/** What a worker answers. */
export type YamlAnswer = { readonly result: YamlResult } | { readonly problem: string };

function answer(text: string): YamlAnswer {
  try {
    return { result: parseYaml(text) };
  } catch (error) {
    if (error instanceof YamlSyntaxError) return { problem: error.message };
    throw error;
  }
}

parentPort?.on("message", (text: string) => parentPort?.postMessage(answer(text)));
