// The syntax tree. Every node knows where it was written.
import type { Location } from "../builtins/builtin.ts";
import type { Value } from "../values/value.ts";

export type { Location };

export interface ScalarTerm {
  readonly kind: "scalar";
  readonly value: Value;
  readonly loc: Location;
}
export interface VarTerm {
  readonly kind: "var";
  readonly name: string;
  readonly loc: Location;
}
/** The first term is what is looked into, usually a variable; the others are the path. */
export interface RefTerm {
  readonly kind: "ref";
  readonly terms: readonly Term[];
  readonly loc: Location;
}
export interface ListTerm {
  readonly kind: "array" | "set";
  readonly items: readonly Term[];
  readonly loc: Location;
}
export interface ObjectTerm {
  readonly kind: "object";
  readonly entries: readonly (readonly [Term, Term])[];
  readonly loc: Location;
}
export interface ComprehensionTerm {
  readonly kind: "arrayComprehension" | "setComprehension";
  readonly head: Term;
  readonly body: Body;
  readonly loc: Location;
}
export interface ObjectComprehensionTerm {
  readonly kind: "objectComprehension";
  readonly key: Term;
  readonly value: Term;
  readonly body: Body;
  readonly loc: Location;
}
export interface CallTerm {
  readonly kind: "call";
  readonly op: RefTerm;
  readonly args: readonly Term[];
  readonly loc: Location;
}
/** `$"a {x}"`: texts and expressions in turn. */
export interface TemplateTerm {
  readonly kind: "template";
  readonly raw: boolean;
  readonly parts: readonly (string | Expr)[];
  readonly loc: Location;
}

export type Term =
  | ScalarTerm
  | VarTerm
  | RefTerm
  | ListTerm
  | ObjectTerm
  | ComprehensionTerm
  | ObjectComprehensionTerm
  | CallTerm
  | TemplateTerm;

export interface With {
  readonly target: RefTerm;
  readonly value: Term;
  /** The built-in that `value` names, when it names one. */
  readonly builtin?: string;
  /** `value` names a function that policies define. */
  readonly isFunction?: boolean;
  readonly loc: Location;
}

export type ExprNode =
  | { readonly kind: "term"; readonly term: Term }
  | { readonly kind: "call"; readonly op: RefTerm; readonly args: readonly Term[] }
  | { readonly kind: "eq"; readonly left: Term; readonly right: Term; readonly assign: boolean }
  | { readonly kind: "some"; readonly vars: readonly VarTerm[] }
  | {
      readonly kind: "someIn";
      readonly key: Term | undefined;
      readonly value: Term;
      readonly domain: Term;
    }
  | {
      readonly kind: "every";
      readonly key: VarTerm | undefined;
      readonly value: VarTerm;
      readonly domain: Term;
      readonly body: Body;
    }
  | { readonly kind: "not"; readonly body: Body; readonly explicit: boolean }
  | {
      readonly kind: "and" | "or";
      readonly left: Body;
      readonly right: Body;
      readonly explicitLeft: boolean;
      readonly explicitRight: boolean;
    };

export interface Expr {
  readonly node: ExprNode;
  readonly negated: boolean;
  readonly withs: readonly With[];
  readonly loc: Location;
  /** Made by the compiler; it stands for a part of another expression. */
  readonly generated?: boolean;
}

export type Body = readonly Expr[];

export interface Head {
  /** Name first, then the path of a dotted or bracketed head. */
  readonly ref: readonly Term[];
  readonly args: readonly Term[] | undefined;
  /** The member of a multi-value rule. */
  readonly key: Term | undefined;
  readonly value: Term | undefined;
  readonly assign: boolean;
  readonly loc: Location;
}

export interface Rule {
  readonly isDefault: boolean;
  readonly head: Head;
  readonly body: Body;
  /** The body was not written: `p := 1`. */
  readonly bare: boolean;
  readonly otherwise: Rule | undefined;
  readonly loc: Location;
  /** The first line after the rule's text. */
  readonly endLine: number;
  /** Where the source text starts and ends. */
  readonly span: readonly [number, number];
}

export interface Import {
  readonly path: readonly string[];
  readonly alias: string | undefined;
  readonly loc: Location;
}

export interface Comment {
  /** Without the leading #. */
  readonly text: string;
  readonly loc: Location;
  readonly offset: number;
}

export type RegoVersion = "v0" | "v1";

export interface Module {
  readonly file: string;
  readonly source: string;
  readonly path: readonly string[];
  readonly packageLoc: Location;
  readonly imports: readonly Import[];
  readonly rules: readonly Rule[];
  readonly comments: readonly Comment[];
  readonly version: RegoVersion;
}
