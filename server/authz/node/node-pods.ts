/**
 * NodePods: the pods of each node and their references. Follows the view of pods in its own turn, so it
 * is exactly as fresh. A pod change reads only its node's name, which the view has ready; pods are
 * parsed once per state, when their node requests something.
 */

import type { Partition } from "../../../storage/cache/partition.js";
import { objectPath } from "../../../storage/objects/keys.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { ApiObject } from "../../api/meta.js";
import { type PodReferences, podReferences } from "../../api/pod-references.js";
import { READ_BYTES_MAX, Unread } from "../unread.js";

const NODE_FIELD = "spec.nodeName";

const NO_REFERENCES: PodReferences = Object.freeze({
  secrets: new Set<string>(),
  configMaps: new Set<string>(),
  claims: new Set<string>(),
  resourceClaims: new Set<string>(),
  serviceAccount: "",
});

/** Pods by name; undefined = not parsed since the last change. */
type PodsOfNamespace = Map<string, PodReferences | undefined>;
type NodeContent = Map<string, PodsOfNamespace>;

export class NodePods {
  readonly #pods: Pick<Partition, "get" | "observe">;
  readonly #mirrorAnnotation: string;
  readonly #nodes = new Map<string, NodeContent>();

  /** @param mirrorAnnotation marks pods that a node created itself; they grant it nothing */
  constructor(pods: Pick<Partition, "get" | "observe">, mirrorAnnotation: string) {
    this.#pods = pods;
    this.#mirrorAnnotation = mirrorAnnotation;
    pods.observe({
      replaced: (tree) => {
        this.#nodes.clear();
        tree.visit("", "", (pod) => {
          this.#add(pod);
          return undefined;
        });
      },
      put: (pod, previous) => {
        if (previous !== undefined && nodeOf(previous) !== nodeOf(pod)) this.#remove(previous);
        this.#add(pod);
      },
      deleted: (previous) => this.#remove(previous),
    });
  }

  /** The number of nodes with pods. */
  get nodes(): number {
    return this.#nodes.size;
  }

  /** Whether the pod is bound to the node. */
  isOn(node: string, namespace: string, name: string): boolean {
    return this.#nodes.get(node)?.get(namespace)?.has(name) === true;
  }

  /** Whether a pod of the node in the namespace satisfies the test. @throws {Unread} */
  some(node: string, namespace: string, test: (references: PodReferences) => boolean): boolean {
    const pods = this.#nodes.get(node)?.get(namespace);
    if (pods === undefined) return false;
    let bytes = 0;
    for (const [name, known] of pods) {
      let references = known;
      if (references === undefined) {
        const { length = 0 } = this.#pods.get(objectPath(namespace, name)) ?? {};
        // A single one cannot be cut.
        if (bytes > 0 && bytes + length > READ_BYTES_MAX) {
          throw new Unread(this.#reads(namespace, pods));
        }
        bytes += length;
        references = this.#read(namespace, name);
        pods.set(name, references);
      }
      if (test(references)) return true;
    }
    return false;
  }

  #reads(namespace: string, pods: PodsOfNamespace): (() => void)[] {
    return [...pods.keys()].map((name) => () => {
      if (pods.has(name) && pods.get(name) === undefined) {
        pods.set(name, this.#read(namespace, name));
      }
    });
  }

  #read(namespace: string, name: string): PodReferences {
    const pod = this.#pods.get(objectPath(namespace, name));
    if (pod === undefined || pod.corruption !== undefined) return NO_REFERENCES;
    // The stored JSON is our own encoding of a decoded object.
    const object = JSON.parse(pod.bytes.toString("utf8")) as ApiObject;
    const isMirror = object.metadata.annotations?.[this.#mirrorAnnotation] !== undefined;
    return isMirror ? NO_REFERENCES : podReferences(object);
  }

  #add(pod: StoredObject): void {
    const node = nodeOf(pod);
    if (node === "") return;
    let content = this.#nodes.get(node);
    if (content === undefined) {
      content = new Map();
      this.#nodes.set(node, content);
    }
    const pods = content.get(pod.namespace);
    if (pods === undefined) content.set(pod.namespace, new Map([[pod.name, undefined]]));
    else pods.set(pod.name, undefined);
  }

  #remove(pod: StoredObject): void {
    const node = nodeOf(pod);
    const content = this.#nodes.get(node);
    const pods = content?.get(pod.namespace);
    if (content === undefined || pods === undefined) return;
    pods.delete(pod.name);
    if (pods.size > 0) return;
    content.delete(pod.namespace);
    if (content.size === 0) this.#nodes.delete(node);
  }
}

/** "" if the pod is unscheduled or unreadable. */
function nodeOf({ fields }: StoredObject): string {
  return fields[NODE_FIELD] ?? "";
}
