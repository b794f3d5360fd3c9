/**
 * DefaultStorageClass and DefaultIngressClass: a claim or an ingress without a class gets the default
 * class; the newest one if there are several.
 */
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { type AdmissionPlugin, handlesOnly } from "./admission.js";
import { type AdmissionView, listObjects } from "./stored-objects.js";

/** The differences between the two plugins. */
interface ClassRules {
  readonly name: string;
  /** The resource whose objects get a class. */
  readonly group: string;
  readonly resource: string;
  readonly field: "storageClassName" | "ingressClassName";
  /** The older annotation that names a class. */
  readonly annotation: string;
  readonly classes: { readonly group: string; readonly resource: string };
  /** Each of them marks a default class when its value is "true". */
  readonly defaultAnnotations: readonly string[];
}

export function createDefaultStorageClass(
  view: AdmissionView,
  { groupDomain, labelDomain }: Naming,
): AdmissionPlugin {
  return createDefaultClass(view, {
    name: "DefaultStorageClass",
    group: "",
    resource: "persistentvolumeclaims",
    field: "storageClassName",
    annotation: `volume.beta.${labelDomain}/storage-class`,
    classes: { group: `storage.${groupDomain}`, resource: "storageclasses" },
    defaultAnnotations: [
      `storageclass.${labelDomain}/is-default-class`,
      `storageclass.beta.${labelDomain}/is-default-class`,
    ],
  });
}

export function createDefaultIngressClass(
  view: AdmissionView,
  { groupDomain, labelDomain }: Naming,
): AdmissionPlugin {
  const group = `networking.${groupDomain}`;
  return createDefaultClass(view, {
    name: "DefaultIngressClass",
    group,
    resource: "ingresses",
    field: "ingressClassName",
    annotation: `${labelDomain}/ingress.class`,
    classes: { group, resource: "ingressclasses" },
    defaultAnnotations: [`ingressclass.${labelDomain}/is-default-class`],
  });
}

function createDefaultClass(view: AdmissionView, rules: ClassRules): AdmissionPlugin {
  const { name, group, resource, field, annotation, classes } = rules;
  return {
    name,
    handles: handlesOnly({ group, resource }, ["CREATE"]),
    mutate({ object }) {
      if (object === undefined) return false;
      const spec = (object.spec ?? {}) as Record<string, unknown>;
      // An empty name is a choice too: no class.
      if (spec[field] !== undefined && spec[field] !== null) return false;
      if (object.metadata.annotations?.[annotation] !== undefined) return false;
      const chosen = newestDefault(listObjects(view, classes, ""), rules);
      if (chosen === undefined) return false;
      object.spec = { ...spec, [field]: chosen };
      return true;
    },
  };
}

function newestDefault(
  classes: readonly ApiObject[],
  { defaultAnnotations }: ClassRules,
): string | undefined {
  const defaults = classes.filter(({ metadata: { annotations = {} } }) =>
    defaultAnnotations.some((annotation) => annotations[annotation] === "true"),
  );
  const key = ({ metadata }: ApiObject) => metadata.creationTimestamp ?? "";
  const nameOf = ({ metadata }: ApiObject) => metadata.name ?? "";
  defaults.sort((left, right) => {
    if (key(left) !== key(right)) return key(left) > key(right) ? -1 : 1;
    return nameOf(left) < nameOf(right) ? -1 : 1;
  });
  return defaults[0]?.metadata.name;
}
