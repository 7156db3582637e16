// Go's text/template, parsed: text, actions, pipelines, if, range, with, define, block, template.

export class TemplateError extends Error {
  constructor(message: string) {
    super(`template: template:1: ${message}`);
    this.name = "TemplateError";
  }
}

export type Operand =
  | { readonly kind: "dot" }
  | { readonly kind: "nil" }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "int"; readonly value: bigint }
  | { readonly kind: "float"; readonly value: number }
  | { readonly kind: "field"; readonly path: readonly string[] }
  | { readonly kind: "variable"; readonly name: string; readonly path: readonly string[] }
  | { readonly kind: "function"; readonly name: string }
  | { readonly kind: "pipeline"; readonly pipeline: Pipeline; readonly path: readonly string[] };

export type Command = readonly Operand[];

export interface Pipeline {
  readonly declares: readonly string[];
  readonly assigns: boolean;
  readonly commands: readonly Command[];
}

export type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "print"; readonly pipeline: Pipeline }
  | {
      readonly kind: "if" | "with" | "range";
      readonly pipeline: Pipeline;
      readonly then: readonly Node[];
      readonly otherwise: readonly Node[];
    }
  | { readonly kind: "template"; readonly name: string; readonly pipeline: Pipeline | undefined }
  | { readonly kind: "break" | "continue" };

export interface Template {
  readonly body: readonly Node[];
  readonly defined: ReadonlyMap<string, readonly Node[]>;
}

interface Chunk {
  readonly kind: "text" | "action";
  readonly text: string;
}

/** Splits at {{ and }}; {{- and -}} eat the space around, comments vanish. */
function chunks(source: string): Chunk[] {
  const out: Chunk[] = [];
  let rest = source;
  for (;;) {
    const open = rest.indexOf("{{");
    if (open < 0) {
      out.push({ kind: "text", text: rest });
      return out;
    }
    let before = rest.slice(0, open);
    let inner = rest.slice(open + 2);
    if (/^-\s/.test(inner)) {
      before = before.trimEnd();
      inner = inner.slice(1);
    }
    out.push({ kind: "text", text: before });
    const end = closing(inner);
    if (end < 0) throw new TemplateError("unclosed action");
    let action = inner.slice(0, end);
    rest = inner.slice(end + 2);
    if (/\s-$/.test(action)) {
      action = action.slice(0, -1);
      rest = rest.trimStart();
    }
    if (!/^\s*\/\*[^]*\*\/\s*$/.test(action)) out.push({ kind: "action", text: action });
  }
}

/** The place of }} outside strings and comments. */
function closing(text: string): number {
  const token = /"(?:[^"\\\n]|\\.)*"|`[^`]*`|'(?:[^'\\]|\\.)*'|\/\*[^]*?\*\/|\}\}/g;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === "}}") return match.index;
  }
  return -1;
}

const TOKEN =
  /\s+|"(?:[^"\\\n]|\\.)*"|`[^`]*`|'(?:[^'\\\n]|\\.)+'|[-+]?(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|\$\w*(?:\.[A-Za-z_]\w*)*|(?:\.[A-Za-z_]\w*)+|\.|:=|[A-Za-z_]\w*|[=|(),]/y;

function tokens(action: string): string[] {
  const out: string[] = [];
  for (let at = 0; at < action.length;) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(action);
    if (match === null)
      throw new TemplateError(`unexpected ${JSON.stringify(action.charAt(at))} in command`);
    at += match[0].length;
    out.push(/^\s/.test(match[0]) ? " " : match[0]);
  }
  return out;
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

function unquote(token: string): string {
  const body = token.slice(1, -1);
  if (token.startsWith("`")) return body;
  return body.replace(
    /\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)/g,
    (_, code: string) => {
      if (/^[xuU].+/.test(code)) return String.fromCodePoint(parseInt(code.slice(1), 16));
      if (/^[0-7]{3}$/.test(code)) return String.fromCharCode(parseInt(code, 8));
      return ESCAPES[code] ?? code;
    },
  );
}

const MAX_DEPTH = 100;

class Parser {
  private readonly chunks: readonly Chunk[];
  private readonly defined = new Map<string, readonly Node[]>();
  private at = 0;
  private depth = 0;
  private list: string[] = [];
  private pos = 0;

  constructor(source: string) {
    this.chunks = chunks(source);
  }

  run(): Template {
    const { nodes, end } = this.nodes([]);
    if (end !== "") throw new TemplateError(`unexpected {{${end}}}`);
    return { body: nodes, defined: this.defined };
  }

  /** Reads until one of the closing words, which must be expected. */
  private nodes(enders: readonly string[]): { nodes: Node[]; end: string } {
    if (++this.depth > MAX_DEPTH) throw new TemplateError("nested too deeply");
    const nodes: Node[] = [];
    for (; this.at < this.chunks.length;) {
      const chunk = this.chunks[this.at++] as Chunk;
      if (chunk.kind === "text") {
        if (chunk.text !== "") nodes.push({ kind: "text", text: chunk.text });
        continue;
      }
      this.list = tokens(chunk.text);
      this.pos = 0;
      this.space();
      const word = this.list[this.pos] ?? "";
      if (word === "end" || word === "else") {
        if (!enders.includes(word)) throw new TemplateError(`unexpected {{${word}}}`);
        this.depth--;
        return { nodes, end: word };
      }
      nodes.push(...this.action(word));
    }
    if (enders.length > 0) throw new TemplateError("unexpected EOF");
    this.depth--;
    return { nodes, end: "" };
  }

  private space(): void {
    while (this.list[this.pos] === " ") this.pos++;
  }

  private action(word: string): Node[] {
    switch (word) {
      case "if":
      case "with":
      case "range":
        this.pos++;
        return [this.control(word)];
      case "break":
      case "continue":
        return [{ kind: word }];
      case "define": {
        this.pos++;
        const name = this.name();
        this.defined.set(name, this.nodes(["end"]).nodes);
        return [];
      }
      case "block": {
        this.pos++;
        const name = this.name();
        const pipeline = this.pipeline("");
        this.defined.set(name, this.nodes(["end"]).nodes);
        return [{ kind: "template", name, pipeline }];
      }
      case "template": {
        this.pos++;
        const name = this.name();
        this.space();
        return [
          {
            kind: "template",
            name,
            pipeline: this.pos < this.list.length ? this.pipeline("") : undefined,
          },
        ];
      }
      default:
        return [{ kind: "print", pipeline: this.pipeline("") }];
    }
  }

  private name(): string {
    this.space();
    const token = this.list[this.pos++] ?? "";
    if (!/^["`]/.test(token)) throw new TemplateError("unexpected token in define clause");
    return unquote(token);
  }

  private control(kind: "if" | "with" | "range"): Node {
    const pipeline = this.pipeline("");
    const { nodes: then, end } = this.nodes(["else", "end"]);
    let otherwise: Node[] = [];
    if (end === "else") {
      this.pos++;
      this.space();
      const word = this.list[this.pos];
      if (word === "if" || word === "with") {
        this.pos++;
        otherwise = [this.control(word)];
      } else otherwise = this.nodes(["end"]).nodes;
    }
    return { kind, pipeline, then, otherwise };
  }

  private pipeline(until: "" | ")"): Pipeline {
    const { declares, assigns } = this.declarations();
    const commands: Command[] = [];
    for (;;) {
      const command: Operand[] = [];
      for (this.space(); this.pos < this.list.length; this.space()) {
        const token = this.list[this.pos] as string;
        if (token === "|" || token === ")") break;
        command.push(this.operand(token));
      }
      if (command.length === 0) throw new TemplateError("missing value for command");
      commands.push(command);
      const token = this.list[this.pos] ?? "";
      if (token === "|") this.pos++;
      else if (token === until) {
        if (until === ")") this.pos++;
        return { declares, assigns, commands };
      } else throw new TemplateError(`unexpected ${JSON.stringify(token)} in operand`);
    }
  }

  private declarations(): { declares: readonly string[]; assigns: boolean } {
    const start = this.pos;
    const names: string[] = [];
    for (;;) {
      this.space();
      const token = this.list[this.pos] ?? "";
      if (!/^\$\w*$/.test(token)) break;
      names.push(token);
      this.pos++;
      this.space();
      const next = this.list[this.pos];
      if (next === ",") this.pos++;
      else if (next === ":=" || next === "=") {
        this.pos++;
        return { declares: names, assigns: next === "=" };
      } else break;
    }
    this.pos = start;
    return { declares: [], assigns: false };
  }

  private operand(token: string): Operand {
    this.pos++;
    if (token === "(") {
      const pipeline = this.pipeline(")");
      const next = this.list[this.pos] ?? "";
      const path = /^\.[A-Za-z_]/.test(next) ? next.slice(1).split(".") : [];
      if (path.length > 0) this.pos++;
      return { kind: "pipeline", pipeline, path };
    }
    if (/^["`]/.test(token)) return { kind: "string", value: unquote(token) };
    if (token.startsWith("'"))
      return { kind: "int", value: BigInt(unquote(token).codePointAt(0) ?? 0) };
    if (token === ".") return { kind: "dot" };
    if (token.startsWith("$")) {
      const [name = "$", ...path] = token.split(".");
      return { kind: "variable", name, path };
    }
    if (/^\.[A-Za-z_]/.test(token)) return { kind: "field", path: token.slice(1).split(".") };
    if (/^[-+.\d]/.test(token)) return numberOperand(token);
    if (token === "true" || token === "false") return { kind: "bool", value: token === "true" };
    if (token === "nil") return { kind: "nil" };
    if (/^[A-Za-z_]/.test(token)) return { kind: "function", name: token };
    throw new TemplateError(`unexpected ${JSON.stringify(token)} in operand`);
  }
}

function numberOperand(token: string): Operand {
  const negative = token.startsWith("-");
  const body = token.replace(/^[-+]/, "");
  if (/^(?:0[xX][0-9a-fA-F]+|\d+)$/.test(body)) {
    const n = BigInt(body);
    return { kind: "int", value: negative ? -n : n };
  }
  return { kind: "float", value: Number(token) };
}

export const parseTemplate = (source: string): Template => new Parser(source).run();
