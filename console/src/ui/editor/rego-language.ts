// Colours for Rego. What a policy means is said by @ostiary/rego, not here.
import { LanguageSupport, StreamLanguage } from "@codemirror/language";

const KEYWORDS = new Set(
  "package import as default if else contains in every some not with null true false".split(" "),
);

interface State {
  /** Within a raw string, which may span lines. */
  isRaw: boolean;
}

const language = StreamLanguage.define<State>({
  name: "rego",
  startState: () => ({ isRaw: false }),
  token(stream, state) {
    if (state.isRaw) {
      if (stream.skipTo("`")) {
        stream.next();
        state.isRaw = false;
      } else stream.skipToEnd();
      return "string";
    }
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.eat("`")) {
      state.isRaw = true;
      return "string";
    }
    if (stream.match(/^\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return "number";
    const word = stream.match(/^[A-Za-z_]\w*/);
    if (Array.isArray(word)) {
      const [name = ""] = word;
      if (name === "true" || name === "false") return "bool";
      if (name === "null") return "null";
      return KEYWORDS.has(name) ? "keyword" : "variableName";
    }
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "#" } },
});

export const rego = (): LanguageSupport => new LanguageSupport(language);
