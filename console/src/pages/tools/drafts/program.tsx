// The program as text with colours. Characters that do not show are written out, by the server.
import { Code, jsonText } from "../../../ui/code.tsx";
import { Editor } from "../../../ui/editor/editor.tsx";
import type { Review } from "./data.ts";

export function Program({
  review,
  goTo,
}: {
  readonly review: Review;
  readonly goTo: { readonly line: number } | null;
}) {
  const { program, language, kind } = review;
  if (kind !== "code") return <Code text={jsonText(program["command"])} label="the command" />;
  return (
    <Editor
      label="Program"
      language={language === "python" ? "python" : "js"}
      value={shownSource(review)}
      readOnly
      goTo={goTo}
      className="h-[55vh]"
    />
  );
}

/** The whole text ends with the program, line by line: findings name the same lines. */
function shownSource({ text, program }: Review): string {
  const count = String(program["source"]).split("\n").length;
  return text.slice(0, -1).split("\n").slice(-count).join("\n");
}
