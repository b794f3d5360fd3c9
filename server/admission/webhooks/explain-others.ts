/** Explains the rules that the index leaves out, for requests that ask for it. */
import type { ServedResource } from "../../kinds/served-resource.js";
import type { AdmissionAttributes } from "../admission.js";
import type { CriteriaIndex } from "../matching/criteria-index.js";
import type { RuleContext } from "../matching/rule-context.js";
import { WriteSubject } from "../matching/write-subject.js";
import type { Hook } from "./hook.js";

export function explainOthers(
  { view }: RuleContext,
  index: CriteriaIndex<Hook>,
  attributes: AdmissionAttributes,
  served: ServedResource,
  plugin: string,
): void {
  if (attributes.explain === undefined) return;
  const subject = new WriteSubject(attributes, served, view);
  const considered = new Set(index.candidates(subject).map(({ value }) => value));
  for (const { value } of index.entries) {
    if (considered.has(value)) continue;
    const { configuration, name } = value;
    attributes.explain({
      plugin,
      configuration,
      rule: name,
      outcome: "skipped",
      why: "its rules or its objectSelector leave such requests out",
      milliseconds: 0,
    });
  }
}
