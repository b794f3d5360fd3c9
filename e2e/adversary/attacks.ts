/** All attacks, in the order in which they run. */
import type { Attack } from "./attack.js";
import { BODY_ATTACKS, CBOR_APPLY_ATTACKS } from "./bodies.js";
import { CONNECTION_ATTACKS } from "./connections.js";
import { CROWD_ATTACKS } from "./crowds.js";
import { PATCH_ATTACKS } from "./patches.js";
import { QUERY_ATTACKS } from "./queries.js";
import { SCHEMA_ATTACKS } from "./schemas.js";
import { STRAY_ATTACKS } from "./strays.js";

export const ATTACKS: readonly Attack[] = [
  ...BODY_ATTACKS,
  ...PATCH_ATTACKS,
  ...CBOR_APPLY_ATTACKS,
  ...QUERY_ATTACKS,
  ...CONNECTION_ATTACKS,
  ...STRAY_ATTACKS,
  ...SCHEMA_ATTACKS,
  ...CROWD_ATTACKS,
];
