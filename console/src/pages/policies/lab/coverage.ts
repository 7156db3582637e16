// Lines that an evaluation reached: a ground and a sign in the gutter, for those who see no colours.
import { type Extension, RangeSetBuilder } from "@codemirror/state";
import { Decoration, EditorView, gutter, GutterMarker } from "@codemirror/view";

class Sign extends GutterMarker {
  readonly #sign: string;
  readonly #title: string;

  constructor(sign: string, title: string) {
    super();
    this.#sign = sign;
    this.#title = title;
  }

  override toDOM(): Node {
    const element = document.createElement("span");
    element.textContent = this.#sign;
    element.title = this.#title;
    return element;
  }
}

const COVERED = new Sign("✓", "held, or was reached");
const MISSED = new Sign("·", "was not reached, or did not hold");
const coveredLine = Decoration.line({ class: "bg-ok-soft/60!" });
const missedLine = Decoration.line({ class: "bg-hold-soft/60!" });

export function coverageExtension(
  covered: readonly number[],
  notCovered: readonly number[],
): Extension {
  const kinds = new Map<number, boolean>([
    ...covered.map((line) => [line, true] as const),
    ...notCovered.map((line) => [line, false] as const),
  ]);
  const lines = [...kinds.keys()].sort((a, b) => a - b);
  return [
    // Built again from the text of now: an edit moves lines until the next evaluation.
    EditorView.decorations.compute(["doc"], ({ doc }) => {
      const builder = new RangeSetBuilder<Decoration>();
      for (const line of lines) {
        if (line > doc.lines) break;
        const { from } = doc.line(line);
        builder.add(from, from, kinds.get(line) ? coveredLine : missedLine);
      }
      return builder.finish();
    }),
    gutter({
      class: "w-4 text-center",
      lineMarker(view, { from }) {
        const kind = kinds.get(view.state.doc.lineAt(from).number);
        return kind === undefined ? null : kind ? COVERED : MISSED;
      },
    }),
  ];
}
