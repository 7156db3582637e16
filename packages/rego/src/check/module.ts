// What a single module must not do: shadow imports or root documents, call what is gone from v1.
import { eachCall } from "../syntax/walk.ts";
import { operatorName } from "../syntax/terms.ts";
import type { Builtin, PowerName } from "../builtins/builtin.ts";
import type { LoadError, LoadErrorCode } from "../errors.ts";
import type { Location, Module, Rule } from "../syntax/ast.ts";

export interface Offered {
  readonly builtins: ReadonlyMap<string, Builtin>;
  readonly granted: ReadonlySet<PowerName> | undefined;
}

export function checkModule(module: Module, offered: Offered, errors: LoadError[]): void {
  const report: Report = (code, at, message) => {
    errors.push({ code, file: at.file, line: at.line, column: at.column, message });
  };
  if (module.version === "v1") checkImports(module, report);
  for (const rule of module.rules) {
    if (module.version === "v1") checkShadowing(rule, report);
    eachCall(rule, (op, loc) => {
      const builtin = offered.builtins.get(operatorName(op));
      if (!builtin) return;
      if (module.version === "v1" && builtin.deprecated) {
        report(
          "rego_type_error",
          loc,
          `deprecated built-in function calls in expression: ${builtin.name}`,
        );
      }
      const { needs } = builtin;
      if (needs !== undefined && offered.granted?.has(needs) === false) {
        report(
          "rego_type_error",
          loc,
          `${builtin.name} needs the power "${needs}", which is not granted`,
        );
      }
    });
  }
}

type Report = (code: LoadErrorCode, at: Location, message: string) => void;

function checkImports(module: Module, report: Report): void {
  const seen = new Map<string, string>();
  for (const { path, alias, loc } of module.imports) {
    const name = alias ?? path.at(-1) ?? "";
    const text = `import ${path.join(".")}`;
    const before = seen.get(name);
    if (before !== undefined) report("rego_compile_error", loc, `import must not shadow ${before}`);
    else seen.set(name, text);
  }
}

function checkShadowing(rule: Rule, report: Report): void {
  const [head] = rule.head.ref;
  const name = head?.kind === "var" ? head.name : "";
  if (name === "data" || name === "input") {
    report(
      "rego_compile_error",
      rule.loc,
      `rules must not shadow ${name} (use a different rule name)`,
    );
  }
  for (const arg of rule.head.args ?? []) {
    const [root] = arg.kind === "ref" ? arg.terms : [];
    if (arg.kind === "ref" && arg.terms.length === 1 && root?.kind === "var") {
      report(
        "rego_compile_error",
        arg.loc,
        `args must not shadow ${root.name} (use a different variable name)`,
      );
    }
  }
}
