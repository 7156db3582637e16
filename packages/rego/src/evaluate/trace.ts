// What an evaluation reports to a tracer.
import type { Expr, Location, Rule } from "../syntax/ast.ts";
import type { Value } from "../values/value.ts";

export interface Tracer {
  enterRule(rule: Rule, path: string): void;
  exitRule(rule: Rule, path: string, value: Value | undefined): void;
  expression(expr: Expr, held: boolean): void;
  note(text: string, at: Location): void;
}
