// The program as text with colours. Characters that do not show are written out, by the server.
import { Code, jsonText } from "../../../ui/code.tsx";
import { Editor } from "../../../ui/editor/editor.tsx";
import type { Review } from "./data.ts";

/** Fits into a low editor. */
const SHORT_LINES = 14;

export function Program({
  review,
  goTo,
}: {
  readonly review: Review;
  readonly goTo: { readonly line: number } | null;
}) {
  const { program, language, kind } = review;
  if (kind !== "code") return <Code text={jsonText(program["command"])} label="the command" />;
  const source = shownSource(review);
  return (
    <Editor
      label="Program"
      language={language === "python" ? "python" : "js"}
      value={source}
      readOnly
      goTo={goTo}
      className={source.split("\n").length > SHORT_LINES ? "h-[55vh]" : "h-72"}
    />
  );
}

/** The whole text ends with the program, line by line: findings name the same lines. */
function shownSource({ text, program }: Review): string {
  const count = String(program["source"]).split("\n").length;
  return text.slice(0, -1).split("\n").slice(-count).join("\n");
}
