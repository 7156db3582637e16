// Globs with `*`, `**`, `?`, `[a-z]`, `[!abc]` and `{a,b}`, run as an automaton: each character is
// looked at once with the set of places the pattern may be at, so no pattern can explode.
import { encodeUtf8 } from "../../go/utf8.ts";
import { fail } from "../operands.ts";

type CharTest = (char: string) => boolean;

type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "one"; readonly test: CharTest }
  | { readonly kind: "many"; readonly test: CharTest }
  | { readonly kind: "any-of"; readonly options: readonly (readonly Node[])[] };

const MAX_PATTERN = 20_000;
const MAX_NESTING = 200;

class Parser {
  private at = 0;
  private readonly chars: readonly string[];
  private readonly noSeparator: CharTest;

  constructor(pattern: string, separators: readonly string[]) {
    this.chars = Array.from(pattern);
    const cuts = new Set(separators);
    this.noSeparator = cuts.size === 0 ? () => true : (char) => !cuts.has(char);
  }

  parse(): readonly Node[] {
    if (this.chars.length > MAX_PATTERN) fail("glob pattern is too long");
    return this.sequence(0);
  }

  /** The place is counted in bytes. */
  private wrong(reason: string): never {
    const offset = encodeUtf8(this.chars.slice(0, this.at).join("")).length;
    return fail(`glob: syntax error at ${offset}: ${reason}`);
  }

  /** Reads up to the end, or inside braces up to `,` or `}`. */
  private sequence(depth: number): Node[] {
    if (depth > MAX_NESTING) fail("glob pattern is nested too deeply");
    const nodes: Node[] = [];
    while (this.at < this.chars.length) {
      const char = this.chars[this.at];
      if (depth > 0 && (char === "," || char === "}")) return nodes;
      nodes.push(this.node(depth));
    }
    if (depth > 0) this.wrong("unclosed `{`");
    return nodes;
  }

  private node(depth: number): Node {
    const char = this.chars[this.at] ?? "";
    switch (char) {
      case "?":
        this.at++;
        return { kind: "one", test: this.noSeparator };
      case "*":
        this.at++;
        if (this.chars[this.at] !== "*") return { kind: "many", test: this.noSeparator };
        this.at++;
        return { kind: "many", test: () => true };
      case "[":
        this.at++;
        return { kind: "one", test: this.charClass() };
      case "{":
        this.at++;
        return { kind: "any-of", options: this.options(depth + 1) };
      default:
        return this.text(depth > 0 ? "?*[{}," : "?*[{");
    }
  }

  private options(depth: number): Node[][] {
    const options = [this.sequence(depth)];
    while (this.chars[this.at] === ",") {
      this.at++;
      options.push(this.sequence(depth));
    }
    this.at++;
    return options;
  }

  private text(stops: string): Node {
    let text = "";
    while (this.at < this.chars.length) {
      const char = this.chars[this.at] ?? "";
      if (stops.includes(char)) break;
      if (char === "\\") {
        this.at++;
        const escaped = this.chars[this.at];
        if (escaped === undefined) return this.wrong("trailing backslash");
        text += escaped;
      } else text += char;
      this.at++;
    }
    return { kind: "text", text };
  }

  private charClass(): CharTest {
    const negated = this.chars[this.at] === "!";
    if (negated) this.at++;
    const low = this.chars[this.at];
    if (low !== undefined && this.chars[this.at + 1] === "-") {
      const high = this.chars[this.at + 2];
      if (high === undefined) {
        this.at = this.chars.length;
        return this.wrong("unexpected end of input");
      }
      const closed = this.chars[this.at + 3];
      this.at = Math.min(this.at + 4, this.chars.length);
      if (closed === undefined) return this.wrong("unexpected end of input");
      if (closed !== "]") return this.wrong("expected close range character");
      const [from, to] = [low.codePointAt(0) ?? 0, high.codePointAt(0) ?? 0];
      if (to < from) return this.wrong("range hi character is less than lo");
      return (char) => {
        const code = char.codePointAt(0) ?? 0;
        return (code >= from && code <= to) !== negated;
      };
    }
    const listed = this.text("]");
    if (this.chars[this.at] !== "]") return this.wrong("unexpected end of input");
    this.at++;
    const set = new Set(listed.kind === "text" ? listed.text : "");
    if (set.size === 0) return this.wrong("could not parse range");
    return (char) => set.has(char) !== negated;
  }
}

/** A place in the automaton: `test` moves on to `next`, `skip` lists places reached for free. */
interface State {
  test: CharTest | undefined;
  next: number;
  skip: number[];
}

class Builder {
  readonly states: State[] = [];

  /** Adds the nodes in front of the place `end`; returns where they begin. */
  add(nodes: readonly Node[], end: number): number {
    return nodes.reduceRight((after, node) => this.node(node, after), end);
  }

  place(test: CharTest | undefined, next: number, skip: number[] = []): number {
    return this.states.push({ test, next, skip }) - 1;
  }

  private node(node: Node, after: number): number {
    switch (node.kind) {
      case "text":
        return Array.from(node.text).reduceRight(
          (next, wanted) => this.place((char) => char === wanted, next),
          after,
        );
      case "one":
        return this.place(node.test, after);
      case "many": {
        const loop = this.place(node.test, -1, [after]);
        (this.states[loop] as State).next = loop;
        return loop;
      }
      case "any-of":
        return this.place(
          undefined,
          -1,
          node.options.map((option) => this.add(option, after)),
        );
    }
  }
}

export type Glob = (text: string, tick: (steps?: number) => void) => boolean;

export function compileGlob(pattern: string, separators: readonly string[]): Glob {
  const nodes = new Parser(pattern, separators).parse();
  const builder = new Builder();
  const end = builder.place(undefined, -1);
  const start = builder.add(nodes, end);
  return (text, tick) => run(builder.states, start, end, text, tick);
}

function run(
  states: readonly State[],
  start: number,
  end: number,
  text: string,
  tick: (steps?: number) => void,
): boolean {
  let current = new Set<number>();
  enter(states, start, current);
  for (const char of text) {
    tick(1 + (current.size >> 4));
    const following = new Set<number>();
    for (const at of current) {
      const state = states[at] as State;
      if (state.test?.(char) === true) enter(states, state.next, following);
    }
    if (following.size === 0) return false;
    current = following;
  }
  return current.has(end);
}

function enter(states: readonly State[], at: number, into: Set<number>): void {
  const open = [at];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (into.has(place)) continue;
    into.add(place);
    open.push(...(states[place] as State).skip);
  }
}
