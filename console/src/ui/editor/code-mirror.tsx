import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting, type LanguageSupport } from "@codemirror/language";
import { type Diagnostic, linter, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import { useEffect, useRef } from "react";
import { cx } from "../class-names.ts";
import { javascript, python } from "./program-languages.ts";
import { rego } from "./rego-language.ts";

export type Language = "json" | "yaml" | "rego" | "js" | "python" | "text";

export interface Fault {
  /** From 1. */
  readonly line: number;
  readonly column?: number;
  readonly message: string;
  readonly severity?: "error" | "warning";
}

export interface EditorProps {
  readonly label: string;
  readonly language: Language;
  readonly value: string;
  readonly onChange?: (text: string) => void;
  readonly readOnly?: boolean;
  /** Shown at their lines; asked again after each change. */
  readonly faultsOf?: (text: string) => readonly Fault[] | Promise<readonly Fault[]>;
  /** Instead of `faultsOf`: found elsewhere, shown at their lines as they are. */
  readonly faults?: readonly Fault[];
  /** Ctrl-Enter. */
  readonly onSubmit?: () => void;
  /** Lines with a coloured ground, e.g. what was covered. */
  readonly extensions?: Extension;
  /** Another object moves the cursor there and brings it into view. */
  readonly goTo?: { readonly line: number; readonly column?: number } | null;
  /** The height, e.g. `h-96`. */
  readonly className?: string;
}

const LANGUAGES: Record<Language, () => LanguageSupport | Extension> = {
  json: () => json(),
  yaml: () => yaml(),
  rego: () => rego(),
  js: () => javascript(),
  python: () => python(),
  text: () => [],
};

const theme = EditorView.theme({
  "&": {
    height: "100%",
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    fontSize: "12.5px",
  },
  ".cm-scroller": { fontFamily: "var(--font-mono)", overflow: "auto" },
  ".cm-gutters": {
    backgroundColor: "var(--surface)",
    color: "var(--muted)",
    borderColor: "var(--line)",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--raised)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft) !important",
  },
  ".cm-panels, .cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    borderColor: "var(--line)",
  },
});

const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier], color: "var(--info)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--ok)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--hold)" },
  { tag: [tags.comment], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.propertyName, tags.definition(tags.variableName)], color: "var(--accent)" },
  { tag: tags.invalid, color: "var(--deny)" },
]);

export function CodeMirror(props: EditorProps) {
  const { label, language, value, readOnly = false, className } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const given = useRef(new Compartment());

  useEffect(() => {
    if (!host.current) return;
    const editor = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          // Before the default keys, which make Ctrl-Enter a new line.
          keymap.of([
            {
              key: "Mod-Enter",
              run: () => {
                latest.current.onSubmit?.();
                return latest.current.onSubmit !== undefined;
              },
            },
          ]),
          basicSetup,
          LANGUAGES[language](),
          theme,
          syntaxHighlighting(highlighting),
          EditorState.readOnly.of(readOnly),
          EditorView.editable.of(!readOnly),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorView.lineWrapping,
          replacing,
          latest.current.faultsOf ? linting(() => latest.current.faultsOf) : lintGutter(),
          given.current.of(latest.current.extensions ?? []),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [label, language, readOnly]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({ effects: given.current.reconfigure(props.extensions ?? []) });
  }, [props.extensions]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || !props.faults) return;
    const found = props.faults.map((fault) => diagnosticOf(editor.state, fault));
    editor.dispatch(setDiagnostics(editor.state, found));
    // A new editor knows nothing yet.
  }, [props.faults, label, language, readOnly]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || !props.goTo) return;
    const { line, column = 1 } = props.goTo;
    const { from, to } = editor.state.doc.line(Math.min(Math.max(line, 1), editor.state.doc.lines));
    const anchor = Math.min(from + column - 1, to);
    editor.dispatch({
      selection: { anchor, head: to },
      effects: EditorView.scrollIntoView(anchor, { y: "center" }),
    });
    editor.focus();
  }, [props.goTo]);

  return (
    <div
      ref={host}
      className={cx("overflow-hidden rounded-md border border-strong-line/70", className ?? "h-64")}
    />
  );
}

/**
 * Text over a selection is put in by the editor itself. Left to the browser, that joins lines with style attributes,
 * which the content security policy forbids.
 */
const replacing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data } = event;
    const isText = inputType === "insertText" || inputType === "insertReplacementText";
    if (!isText || data === null || view.composing || view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(data), {
      userEvent: "input.type",
      scrollIntoView: true,
    });
    return true;
  },
});

function linting(faultsOf: () => EditorProps["faultsOf"]): Extension {
  const source = linter(
    async ({ state }) => {
      const faults = (await faultsOf()?.(state.doc.toString())) ?? [];
      return faults.map((fault) => diagnosticOf(state, fault));
    },
    { delay: 300 },
  );
  return [source, lintGutter()];
}

function diagnosticOf({ doc }: EditorState, { line: at, column = 1, ...fault }: Fault): Diagnostic {
  const line = doc.line(Math.min(Math.max(at, 1), doc.lines));
  const from = Math.min(line.from + Math.max(column - 1, 0), line.to);
  return { from, to: line.to, severity: fault.severity ?? "error", message: fault.message };
}
