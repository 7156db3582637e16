// A4: content that gets where file/write asks, without the question.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Attack, Case } from "./attack.ts";

const IMPORTANT = "important.txt";

function unasked(name: string, tool: string, args: Record<string, unknown>): Case {
  return {
    name,
    async run(target) {
      await target.call("file/write", { path: "$SCRATCH/new", content: "changed" });
      const { status, body } = await target.call(tool, args);
      const now = readFileSync(join(target.workspace, IMPORTANT), "utf8");
      if (now !== "important\n") return `the file now says ${JSON.stringify(now)}`;
      if (existsSync(join(target.workspace, "new.txt"))) return "a new file is there";
      return status === 200 && body.status === "success"
        ? `${tool} ran and nobody was asked`
        : null;
    },
  };
}

const over = { overwrite: true };
const from = "$SCRATCH/new";
const url = "https://github.com/x";

const attack: Attack = {
  item: "A4",
  title: "a write that nobody was asked about",
  async prepare({ workspace, asUser }) {
    await asUser(
      ["sh", "-c", `echo important > ${IMPORTANT}; mkdir folder; ln -s ${IMPORTANT} link`],
      { cwd: workspace },
    );
  },
  control: {
    name: "into the scratch folder nobody is asked",
    async run(target) {
      const answer = await target.call("file/copy", {
        from: IMPORTANT,
        to: "$SCRATCH/copy",
        ...over,
      });
      return answer.status === 200 && answer.body.status === "success"
        ? null
        : JSON.stringify(answer.body).slice(0, 200);
    },
  },
  cases: [
    unasked("a copy over the file", "file/copy", { from, to: IMPORTANT, ...over }),
    unasked("a copy to a new file", "file/copy", { from, to: "new.txt" }),
    unasked("a copy by an absolute way round", "file/copy", {
      from,
      to: `./folder/../${IMPORTANT}`,
      ...over,
    }),
    unasked("a copy through a link", "file/copy", { from, to: "link", ...over }),
    unasked("a folder over the workspace", "file/copy", {
      from: "$SCRATCH",
      to: "folder",
      recursive: true,
      ...over,
    }),
    unasked("a move over the file", "file/move", { from, to: IMPORTANT, ...over }),
    unasked("a move to a new file", "file/move", { from, to: "new.txt" }),
    unasked("the file moved away", "file/move", { from: IMPORTANT, to: "$SCRATCH/gone" }),
    unasked("a download over the file", "web/download", { url, path: IMPORTANT, ...over }),
    unasked("a download to a new file", "web/download", { url, path: "new.txt" }),
    unasked("speech over the file", "ai/speak", { text: "x", path: IMPORTANT }),
    unasked("a picture over the file", "ai/generate_image", { prompt: "x", path: IMPORTANT }),
    unasked("an edit", "file/edit", { path: IMPORTANT, oldContent: "important", newContent: "x" }),
    unasked("a program that writes", "shell/exec", { command: ["cp", "/etc/hostname", IMPORTANT] }),
    unasked("a redirection", "shell/exec", { command: `date > ${IMPORTANT}` }),
  ],
};

export default attack;
