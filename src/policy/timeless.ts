// May an answer be remembered? Only when no rule looks at the time, at chance or at anything outside.
import { BUILTINS } from "./rego/builtins/index.ts";
import { operatorName } from "./rego/terms.ts";
import { eachCall, walkRule } from "./rego/walk.ts";
import type { Module, RefTerm, Term } from "./rego/ast.ts";

/** Compare with the clock without calling it in the policy. */
const READ_THE_CLOCK = [
  "io.jwt.decode_verify",
  "crypto.x509.parse_and_verify_certificates",
  "crypto.x509.parse_and_verify_certificates_with_options",
];

const CHANGING = new Set([
  ...BUILTINS.filter(({ nondeterministic }) => nondeterministic).map(({ name }) => name),
  ...READ_THE_CLOCK,
]);

/** In doubt no: `input` as a whole, or looked into with a key that is not written down, may be its time. */
export function isTimeless(modules: readonly Module[]): boolean {
  return modules.every((module) => !importsTime(module) && !module.rules.some(changes));
}

function importsTime({ imports }: Module): boolean {
  return imports.some(({ path: [root, field] }) => root === "input" && (field === undefined || field === "time")); // prettier-ignore
}

function changes(rule: Module["rules"][number]): boolean {
  let found = false;
  eachCall(rule, (op) => (found ||= CHANGING.has(operatorName(op))));
  // Heads of references that were judged as a whole.
  const judged = new Set<Term>();
  walkRule(rule, {
    term(term) {
      if (term.kind === "ref") {
        const [head] = term.terms;
        if (head) judged.add(head);
        found ||= CHANGING.has(operatorName(term)) || readsTime(term);
      } else if (term.kind === "var" && term.name === "input" && !judged.has(term)) found = true;
    },
  });
  return found;
}

function readsTime({ terms: [head, field] }: RefTerm): boolean {
  if (head?.kind !== "var" || head.name !== "input") return false;
  return field?.kind !== "scalar" || field.value === "time";
}
