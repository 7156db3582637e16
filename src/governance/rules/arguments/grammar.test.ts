// Arguments as the programs read them; a word that no grammar explains is asked about.
import { describe, expect, test } from "vitest";
import { grammarOf, unexplained } from "./grammar.ts";
import { GRAMMARS } from "./grammars.ts";

const judge = ([program = "", ...args]: readonly string[]): string | null => {
  const grammar = GRAMMARS.get(program);
  if (!grammar) throw new Error(program);
  return unexplained(args, grammar);
};

describe("A3: grammars of listed programs", () => {
  test.each([
    ["sort", "--random-source", "--", "-o", "out", "in"],
    ["rg", "-e", "--", "--pre", "sh", "x"],
    ["uniq", "--", "in", "-out"],
    ["sort", "-o", "out", "in"],
    ["sort", "-oout", "in"],
    ["sort", "-rno", "out", "in"],
    ["sort", "--output=out", "in"],
    ["sort", "--outp", "out", "in"],
    ["sort", "in", "-o", "out"],
    ["sort", "-k", "--", "-o", "x"],
    ["sort", "-t", "--", "--output", "x"],
    ["sort", "--key", "--", "-ox"],
    ["sort", "--compress-program=sh", "in"],
    ["sort", "--comp", "sh"],
    ["sort", "-T", ".", "in"],
    ["sort", "--files0-from=x"],
    ["sort", "-S", "1"],
    ["sort", "+1", "-2", "-o", "x"],
    ["rg", "--pre=sh", "x"],
    ["rg", "-A", "--", "--pre", "sh"],
    ["rg", "--regexp", "--", "--hostname-bin", "sh"],
    ["rg", "-nz", "x"],
    ["rg", "--search-zip", "x"],
    ["rg", "--pre-glob", "x"],
    ["rg", "-g", "--", "--pre", "sh", "x"],
    ["uniq", "in", "out"],
    ["uniq", "-c", "in", "out"],
    ["uniq", "-f", "--", "in", "out"],
    ["uniq", "-w", "3", "--", "-a", "-b"],
    ["date", "-s", "now"],
    ["date", "--set=now"],
    ["date", "--se", "now"],
    ["date", "010100002030"],
    ["date", "-d", "--", "-s", "now"],
    ["date", "--", "0101"],
    ["tail", "--pid=1", "-f", "x"],
    ["tail", "-n", "--", "--pid", "1", "x"],
    ["wc", "--files0-from=x"],
    ["du", "--files0-from", "x"],
    ["du", "-d", "--", "--files0-from=x"],
    ["diff", "-l", "a", "b"],
    ["diff", "--paginate", "a", "b"],
    ["diff", "-U", "--", "-l", "a", "b"],
    ["jq", "-L", ".", "x"],
    ["jq", "--library-path", "."],
    ["jq", "--run-tests"],
    ["jq", "--arg", "a", "--", "-L", "."],
    ["jq", "--arg=a", "b"],
    ["jq", "-nL", "."],
    ["df", "--sync"],
    ["grep", "--unknown"],
    ["cat", "-n5"],
    ["cat", "--number=5"],
    ["head", "-n"],
    ["pwd", "x"],
    ["uname", "x"],
    ["ls", "--dired"],
  ])("%j asks", (...argv) => {
    expect(judge(argv)).toEqual(expect.any(String));
  });

  test.each([
    ["ls", "-la", "--color=always", "--sort", "size", "sub"],
    ["head", "-5", "x"],
    ["head", "-n", "-5", "x"],
    ["tail", "-20", "x"],
    ["tail", "-c+5", "x"],
    ["tail", "-n", "5", "--", "-file"],
    ["sort", "-t,", "-k2,3nr", "-u", "x"],
    ["sort", "--key=2", "--field-separator", ":", "x", "y"],
    ["uniq", "-c"],
    ["uniq", "-cd", "x"],
    ["uniq", "-f", "1", "x"],
    ["grep", "-rn", "-e", "--", "x"],
    ["grep", "-A3", "--include=*.ts", "-i", "a", "x"],
    ["grep", "--", "-o", "x"],
    ["rg", "-n", "-e", "--pre", "x"],
    ["rg", "-tts", "--glob", "!x", "word"],
    ["rg", "--", "--pre", "x"],
    ["date", "-u", "+%F"],
    ["date", "-Iseconds"],
    ["date", "-d", "yesterday", "+%s"],
    ["stat", "-c", "%s", "x"],
    ["du", "-sh", "-d1", "."],
    ["df", "-h", "--output=source"],
    ["diff", "-u", "a", "b"],
    ["diff", "-U5", "--label", "x", "a", "b"],
    ["cut", "-d", "-", "-f1", "x"],
    ["tr", "-d", "a-z"],
    ["jq", "-r", "--arg", "a", "-L", ".x", "x"],
    ["jq", "-nc", "1"],
    ["wc", "-l", "x"],
    ["cat", "-", "x"],
    ["uname", "-a"],
    ["ls", "--help"],
  ])("%j is known", (...argv) => {
    expect(judge(argv)).toBeNull();
  });

  test("an option that takes two words takes the next two, and none that is attached", () => {
    const grammar = grammarOf({ flags: "-a", pairs: "-p", operands: 1 });
    expect(unexplained(["-p", "-x", "--y", "one"], grammar)).toBeNull();
    expect(unexplained(["-ap", "-x", "--y", "one"], grammar)).toBeNull();
    expect(unexplained(["-pa", "x", "y"], grammar)).toContain("-pa is not known");
    expect(unexplained(["-p", "x"], grammar)).toContain("value of its option -p is missing");
    expect(unexplained(["-p", "x", "y", "one", "two"], grammar)).toContain("more than 1 operands");
  });
});
