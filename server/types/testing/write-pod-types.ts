/** `node dist/server/types/testing/write-pod-types.js`: writes the types of a pod template as the facts have them. */
import { readFileSync, writeFileSync } from "node:fs";
import { createNaming } from "../../api/naming.js";
import { loadFacts } from "../load-facts.js";
import { POD_TYPES_FILE, podTypesText } from "./pod-types.js";

const { model } = loadFacts(createNaming("kubernetes"));
writeFileSync(POD_TYPES_FILE, podTypesText(model, readFileSync(POD_TYPES_FILE, "utf8")));
