// May an answer be remembered? Only when no rule reads the time, a random number or anything outside.
import { STANDARD_BUILTINS } from "@ostiary/rego";
import {
  operatorName,
  eachCall,
  walkRule,
  type Module,
  type RefTerm,
  type Term,
} from "@ostiary/rego/syntax";

/** Compare with the clock without calling it in the policy. */
const READ_THE_CLOCK = [
  "io.jwt.decode_verify",
  "crypto.x509.parse_and_verify_certificates",
  "crypto.x509.parse_and_verify_certificates_with_options",
];

const CHANGING = new Set([
  ...STANDARD_BUILTINS.filter(({ nondeterministic }) => nondeterministic).map(({ name }) => name),
  ...READ_THE_CLOCK,
]);

const TIME: Fields = new Set(["time"]);
const CALL: Fields = new Set(["time", "arguments", "argument_names"]);
type Fields = ReadonlySet<unknown>;

/**
 * The same at any time. In doubt no: `input` as a whole, or looked into with a key that is not written down, may be
 * its time.
 */
export const isTimeless = (modules: readonly Module[]): boolean => ignores(modules, TIME);

/** The same also whatever the arguments of the call are. */
export const isArgumentless = (modules: readonly Module[]): boolean => ignores(modules, CALL);

function ignores(modules: readonly Module[], fields: Fields): boolean {
  return modules.every(
    (module) => !imports(module, fields) && !module.rules.some((rule) => changes(rule, fields)),
  );
}

function imports({ imports: all }: Module, fields: Fields): boolean {
  return all.some(
    ({ path: [root, field] }) => root === "input" && (field === undefined || fields.has(field)),
  );
}

function changes(rule: Module["rules"][number], fields: Fields): boolean {
  let found = false;
  eachCall(rule, (op) => (found ||= CHANGING.has(operatorName(op))));
  // Heads of references that were judged as a whole.
  const judged = new Set<Term>();
  walkRule(rule, {
    term(term) {
      if (term.kind === "ref") {
        const [head] = term.terms;
        if (head) judged.add(head);
        found ||= CHANGING.has(operatorName(term)) || reads(term, fields);
      } else if (term.kind === "var" && term.name === "input" && !judged.has(term)) found = true;
    },
  });
  return found;
}

function reads({ terms: [head, field] }: RefTerm, fields: Fields): boolean {
  if (head?.kind !== "var" || head.name !== "input") return false;
  return field?.kind !== "scalar" || fields.has(field.value);
}
