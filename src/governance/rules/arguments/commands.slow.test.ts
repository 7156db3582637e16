// Commands that are judged "run" are also run, by real shells with counting stand-ins.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import {
  COMMAND_CORPUS,
  commandCorpus,
  LISTED,
  openCommands,
} from "../../../../test/fixtures/commands.ts";
import { takeApart } from "./shell.ts";

const world = openCommands();
afterAll(world.close);
const { at, verdict, log: LOG } = world;

describe("T32: the command-injection corpus", () => {
  /** Gives each text to two real shells: which programs are started, text by text. */
  function started(texts: readonly string[]): string[][] {
    writeFileSync(LOG, "");
    writeFileSync(at("texts"), texts.map((text) => `${text}\0`).join(""));
    const driver = `while IFS= read -r -d '' text; do
      printf '=\n' >>'${LOG}'
      for shell in /bin/bash /bin/sh; do "$shell" -c "$text" </dev/null >/dev/null 2>&1; done
    done <'${at("texts")}'`;
    const env = { PATH: at("bin"), HOME: at("home") };
    spawnSync("/bin/bash", ["-c", driver], { cwd: at("workspace"), env, timeout: 200_000 });
    const parts = readFileSync(LOG, "utf8").split("=\n").slice(1);
    return parts.map((part) => part.split("\n").filter(Boolean));
  }

  test.skipIf(!existsSync(COMMAND_CORPUS))(
    "a line behind a listed command runs unasked only when the shell starts nothing but listed programs",
    { timeout: 300_000 },
    async () => {
      const { lines, texts } = commandCorpus();
      const before = readdirSync(at("workspace"));
      const counts: Record<string, number> = { lines, run: 0, ask: 0, deny: 0 };
      const run: string[] = [];
      for (const text of texts) {
        const judged = await verdict(text);
        counts[judged] = (counts[judged] ?? 0) + 1;
        // Most that is quoted is plain text to everybody: a part of those is enough for the shells.
        if (judged === "run" && (!/^cat ['"]/.test(text) || (counts["run"] ?? 0) % 5 === 0))
          run.push(text);
      }
      // Judged as so many listed programs: the shells must start at most those, and leave no file behind.
      const starts = started(run);
      const wrong = run.filter((text, index) => {
        const names = starts[index] ?? ["nothing was noted"];
        return (
          names.some((name) => !LISTED.includes(name)) ||
          names.length > 2 * takeApart(text).commands.length
        );
      });
      const shown = {
        ...counts,
        texts: texts.size,
        givenToShells: run.length,
        started: starts.flat().length,
      };
      console.info(
        `command-injection corpus: ${JSON.stringify(shown)}, wrongly run: ${wrong.length}`,
      );
      expect(wrong).toEqual([]);
      expect(readdirSync(at("workspace"))).toEqual(before);
      expect(counts["nothing"] ?? 0).toBe(0);
      expect(texts.size).toBeGreaterThan(5_000);
      expect(starts.flat().length).toBeGreaterThan(run.length);
    },
  );

  test(
    "whatever is made of shell words: what is judged run starts listed programs only",
    { timeout: 120_000 },
    async () => {
      const pieces = [
        "ls",
        "cat",
        " ",
        " ",
        "id",
        "a",
        "-l",
        "'",
        '"',
        "\\",
        "$",
        "(",
        ")",
        "`",
        "|",
        "&",
        ";",
        "\n",
        "\t",
        "#",
        "{",
        "}",
        "<",
        ">",
        "=",
        "~",
        "*",
        "!",
        "x=1",
        "/dev/null",
        "2",
        "é",
        "\u00a0",
        "$'",
        "[",
        "]",
        "%",
        "^",
      ];
      const lines = fc
        .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 12 })
        .map((parts) => `ls ${parts.join("")}`);
      const run: string[] = [];
      for (const text of new Set(fc.sample(lines, 1_500)))
        if ((await verdict(text)) === "run") run.push(text);
      const starts = started(run);
      const wrong = run.filter(
        (text, index) =>
          (starts[index] ?? ["?"]).some((name) => !LISTED.includes(name)) ||
          (starts[index] ?? []).length > 2 * takeApart(text).commands.length,
      );
      console.info(
        `shell words: 1500 texts, ${run.length} judged run, ${starts.flat().length} programs started, wrongly run: ${wrong.length}`,
      );
      expect(wrong).toEqual([]);
      expect(run.length).toBeGreaterThan(100);
      expect(readdirSync(at("workspace")).sort()).toEqual(["file.txt", "sub"]);
    },
  );

  test("the stand-ins would notice", () => {
    expect(started(["cat a; ls", "nothing", "cat $(id)"])).toEqual([
      ["cat", "ls", "cat", "ls"],
      [],
      ["id", "cat", "id", "cat"],
    ]);
  });
});
