import { expect, test } from "vitest";
import { splitCommand } from "./shell-words.ts";

test("words are taken apart as a shell would", () => {
  const cases: [string, string[]][] = [
    ["ls -la", ["ls", "-la"]],
    [`echo "a b" 'c  d' e\\ f`, ["echo", "a b", "c  d", "e f"]],
    [`printf "%s\\n" 'it''s'`, ["printf", "%s\\n", "its"]],
    ["  ls \\\n  -l  # why", ["ls", "-l"]],
    [`echo "" ''`, ["echo", "", ""]],
    [`echo 'a;b|c&d>e<f$(g)\`h\`' "i;j"`, ["echo", "a;b|c&d>e<f$(g)`h`", "i;j"]],
    ["export A=1", ["export", "A=1"]],
    ["echo ~/x \\*", ["echo", "~/x", "*"]],
  ];
  for (const [text, argv] of cases) expect([text, splitCommand(text)]).toEqual([text, { argv }]);
});

test("what only a shell could do is named, never dropped", () => {
  const cases: [string, RegExp][] = [
    ["a | b", /\|/],
    ["a && b", /&&/],
    ["a; b", /several commands/],
    ["a\nb", /several commands/],
    ["a &", /background/],
    ["a > b", /redirect/],
    ["a < b", /redirect/],
    ["a 2>&1", /redirect/],
    ["echo $(b)", /\$\(b\)/],
    ["echo `b`", /`b`/],
    ["echo $HOME", /\$HOME/],
    ['echo "x $HOME"', /only a shell/],
    ["ls *", /\*/],
    ["ls {a,b}", /\{a,b\}/],
    ["ls ~root", /~root/],
    ["A=1 ls", /env/],
    ["A=1", /env/],
    ["( ls )", /\( \)/],
    ["! ls", /!/],
    ["if a; then b; fi", /shell syntax/],
    ["echo 'a", /unterminated/],
    ["", /no command/],
    ["# only", /no command/],
    ["a\0b", /control characters/],
    ["x".repeat(9_000), /longer/],
  ];
  for (const [text, wrong] of cases)
    expect([text, splitCommand(text)]).toEqual([
      text,
      { wrong: expect.stringMatching(wrong) as string },
    ]);
});
