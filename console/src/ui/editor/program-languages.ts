// Colours for programs in JavaScript and Python, as far as one reads them by: words, texts, numbers, comments.
import { LanguageSupport, StreamLanguage, type StringStream } from "@codemirror/language";

interface Rules {
  readonly name: string;
  readonly keywords: ReadonlySet<string>;
  readonly comment: RegExp;
  /** What begins a text or a comment that may span lines, what ends it, and which of the two it is. */
  readonly spans: readonly (readonly [begin: string, end: string, is: "string" | "comment"])[];
  readonly bools: ReadonlySet<string>;
  readonly nothing: ReadonlySet<string>;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const JAVASCRIPT: Rules = {
  name: "javascript",
  keywords: words(
    "async await break case catch class const continue default delete do else export extends finally for function if import in instanceof let new of return static super switch this throw try typeof var void while yield",
  ),
  comment: /^\/\/.*/,
  spans: [
    ["/*", "*/", "comment"],
    ["`", "`", "string"],
  ],
  bools: words("true false"),
  nothing: words("null undefined"),
};

const PYTHON: Rules = {
  name: "python",
  keywords: words(
    "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield",
  ),
  comment: /^#.*/,
  spans: [
    [`"""`, `"""`, "string"],
    ["'''", "'''", "string"],
  ],
  bools: words("True False"),
  nothing: words("None"),
};

interface State {
  /** Within a text or comment that began on this line or one before. */
  span: Rules["spans"][number] | null;
}

function goOnIn(span: Rules["spans"][number], stream: StringStream, state: State): string {
  const [, end, is] = span;
  while (!stream.eol()) {
    if (is === "string" && stream.eat("\\")) stream.next();
    else if (stream.match(end)) {
      state.span = null;
      break;
    } else stream.next();
  }
  return is;
}

const languageOf = (rules: Rules): StreamLanguage<State> =>
  StreamLanguage.define<State>({
    name: rules.name,
    startState: () => ({ span: null }),
    token(stream, state) {
      if (state.span) return goOnIn(state.span, stream, state);
      if (stream.eatSpace()) return null;
      if (stream.match(rules.comment)) return "comment";
      const begun = rules.spans.find(([begin]) => stream.match(begin));
      if (begun) {
        state.span = begun;
        return goOnIn(begun, stream, state);
      }
      if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)*'?/))
        return "string";
      if (stream.match(/^(?:0[xob][\da-f_]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)/i)) return "number";
      const word = stream.match(/^[\p{L}_$][\p{L}\p{N}_$]*/u);
      if (!Array.isArray(word)) {
        stream.next();
        return null;
      }
      const [name = ""] = word;
      if (rules.bools.has(name)) return "bool";
      if (rules.nothing.has(name)) return "null";
      return rules.keywords.has(name) ? "keyword" : "variableName";
    },
  });

export const javascript = (): LanguageSupport => new LanguageSupport(languageOf(JAVASCRIPT));
export const python = (): LanguageSupport => new LanguageSupport(languageOf(PYTHON));
