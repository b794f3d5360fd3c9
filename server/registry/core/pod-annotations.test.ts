/** Annotations of pods that updates may not touch (A14). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "../../api/meta.js";
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import { validatePodAnnotationChange } from "./pod-annotations.js";

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
