/** Annotations of pods that updates may not touch (A14). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "../../api/meta.js";
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import { checkProblems, storedOf, type TestObject } from "../testing/problems.js";
import { validatePodAnnotationChange, validatePodAnnotations } from "./pod-annotations.js";

const naming = createNaming(DEFAULT_VENDOR);
const MIRROR = "kubernetes.io/config.mirror";
const ARMOR = "container.apparmor.security.beta.kubernetes.io/c";

const pod = (annotations?: Record<string, string>): ApiObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: annotations === undefined ? {} : { annotations },
});

test("A14: mirror and AppArmor annotations are not added, changed or removed", () => {
  const found = (before?: Record<string, string>, next?: Record<string, string>) =>
    validatePodAnnotationChange(pod(next), pod(before), naming).map(
      ({ field, message }) => `${field}: ${message}`,
    );
  const mirror = (why: string) =>
    `metadata.annotations[${MIRROR}]: Forbidden: may not ${why} mirror pod annotation`;
  const armor = (why: string) =>
    `metadata.annotations[${ARMOR}]: Forbidden: may not ${why} AppArmor annotations`;
  assert.deepEqual(
    found({ [MIRROR]: "x", [ARMOR]: "y" }, { [MIRROR]: "x", [ARMOR]: "y", a: "b" }),
    [],
  );
  assert.deepEqual(found({ a: "b" }, undefined), []);
  assert.deepEqual(found(undefined, { [MIRROR]: "x", [ARMOR]: "y" }), [
    mirror("add"),
    armor("add"),
  ]);
  assert.deepEqual(found({ [MIRROR]: "x" }, undefined), [mirror("remove or update")]);
  assert.deepEqual(found({ [ARMOR]: "x" }, { [ARMOR]: "y" }), [armor("remove or update")]);
});

const main = { name: "c", image: "i" };
const annotated = (annotations: Record<string, string>, spec: object = {}): TestObject => ({
  metadata: { name: "x", annotations },
  spec: { containers: [main], ...spec },
});

test("R18: annotations of profiles, costs and tolerations have their form, in pods and in templates", () => {
  const cost = "controller.kubernetes.io/pod-deletion-cost";
  const seccomp = "seccomp.security.alpha.kubernetes.io/pod";
  const tolerations = "scheduler.alpha.kubernetes.io/tolerations";
  const other = ARMOR.replace("/c", "/other");
  const at = "metadata.annotations";
  checkProblems("v1/pods", [
    [annotated({ [MIRROR]: "x" }, { nodeName: "n" })],
    [
      annotated({ [MIRROR]: "x" }),
      `${at}[${MIRROR}]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set`,
    ],
    ...["0", "-0", "-05", "7", "2147483647"].map((ok) => [annotated({ [cost]: ok })] as const),
    ...["+1", "01", "", "1.0", "2147483648", "-"].map(
      (bad) =>
        [
          annotated({ [cost]: bad }),
          `${at}[${cost}]: Invalid value: "${bad}": must be a 32bit integer`,
        ] as const,
    ),
    [annotated({ [tolerations]: '[{"Key":"a","OPERATOR":"Exists"}]' })],
    [
      annotated({ [tolerations]: "x" }),
      `${at}: Invalid value: "${tolerations}": invalid character 'x' looking for beginning of value`,
    ],
    [
      annotated({ [tolerations]: "{}" }),
      `${at}: Invalid value: "${tolerations}": json: cannot unmarshal object into Go value of type []core.Toleration`,
    ],
    [
      annotated({ [tolerations]: '[{"key":"a","operator":"Exists","value":"x"}]' }),
      `${at}.${tolerations}[0].operator: Invalid value: "x": value must be empty when \`operator\` is 'Exists'`,
    ],
    ...["runtime/default", "docker/default", "unconfined", "localhost/a/b"].map(
      (ok) => [annotated({ [seccomp]: ok })] as const,
    ),
    [
      annotated({ [seccomp]: "bad" }),
      `${at}.${seccomp}: Invalid value: "bad": must be a valid seccomp profile`,
    ],
    [
      annotated({ [seccomp]: "localhost//x" }),
      `${at}.${seccomp}: Invalid value: "/x": must be a relative path`,
    ],
    ...["", "runtime/default", "unconfined", "localhost/"].map(
      (ok) => [annotated({ [ARMOR]: ok })] as const,
    ),
    [
      annotated({ [ARMOR]: "bad" }),
      `${at}[${ARMOR}]: Invalid value: "bad": invalid AppArmor profile name: "bad"`,
    ],
    [
      annotated({ [other]: "unconfined" }),
      `${at}[${other}]: Invalid value: "other": container not found`,
    ],
  ]);
  checkProblems("v1/podtemplates", [
    [
      { template: { metadata: { annotations: { [cost]: "x" } }, spec: { containers: [main] } } },
      `template.annotations[${cost}]: Invalid value: "x": must be a 32bit integer`,
    ],
  ]);
});

test("R18: a profile's field and annotation say the same", () => {
  const seccomp = "seccomp.security.alpha.kubernetes.io/pod";
  const ofPod = (type: string, localhostProfile?: string) => ({
    securityContext: {
      seccompProfile: { type, ...(localhostProfile ? { localhostProfile } : {}) },
    },
  });
  const ofMain = (appArmorProfile: object) => ({
    containers: [{ ...main, securityContext: { appArmorProfile } }],
  });
  const inMain = "spec.containers[0].securityContext.appArmorProfile";
  checkProblems("v1/pods", [
    [annotated({ [seccomp]: "docker/default" }, ofPod("RuntimeDefault"))],
    [annotated({ [seccomp]: "localhost/a" }, ofPod("Localhost", "a"))],
    [
      annotated({ [seccomp]: "localhost/b" }, ofPod("Localhost", "a")),
      "spec.securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field must match",
    ],
    [
      annotated({ [seccomp]: "runtime/default" }, ofPod("Unconfined")),
      "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match",
    ],
    [annotated({ [ARMOR]: "unconfined" }, ofMain({ type: "Unconfined" }))],
    [
      annotated({ [ARMOR]: "runtime/default" }, ofMain({ type: "Unconfined" })),
      `${inMain}.type: Forbidden: apparmor type in annotation and field must match`,
    ],
    [
      annotated(
        { [ARMOR]: "runtime/default" },
        { ...ofMain({ type: "Unconfined" }), os: { name: "windows" } },
      ),
      `${inMain}: Forbidden: cannot be set for a windows pod`,
    ],
  ]);
});

test("R44: AppArmor's annotation becomes the field of a container that has none, and old annotations go", () => {
  const profileOf = (annotation: string, spec: object = {}) => {
    const { spec: stored } = storedOf("v1/pods", annotated({ [ARMOR]: annotation }, spec));
    const { containers } = stored as {
      containers: { securityContext?: { appArmorProfile: object } }[];
    };
    return containers[0]?.securityContext?.appArmorProfile;
  };
  assert.deepEqual(profileOf("runtime/default"), { type: "RuntimeDefault" });
  assert.deepEqual(profileOf("localhost/a"), { type: "Localhost", localhostProfile: "a" });
  assert.equal(profileOf("localhost/"), undefined);
  const same = { securityContext: { appArmorProfile: { type: "RuntimeDefault" } } };
  assert.equal(profileOf("runtime/default", same), undefined);

  const old = { "pod.beta.kubernetes.io/init-containers": "[]", mine: "kept" };
  assert.deepEqual(storedOf("v1/pods", annotated(old)).metadata.annotations, { mine: "kept" });
});

test("R18: an odd cost that is stored may stay", () => {
  const cost = "controller.kubernetes.io/pod-deletion-cost";
  const found = (before: string, next: string) => {
    const errors: FieldError[] = [];
    validatePodAnnotations(
      { annotations: { [cost]: next }, before: { [cost]: before }, spec: {} },
      { field: "metadata.annotations", naming, errors },
    );
    return errors.length;
  };
  assert.deepEqual([found("x", "y"), found("1", "y"), found("x", "1")], [0, 1, 0]);
});
