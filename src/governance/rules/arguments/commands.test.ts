// Commands, judged as the gate asks. That what is judged "run" runs nothing else: commands.slow.test.ts.
import { existsSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import {
  ARGV,
  COMMAND_CORPUS,
  commandCorpus,
  openCommands,
  SHELL,
} from "../../../../test/fixtures/commands.ts";
import { testCaller, testTool } from "../../../../test/fixtures/gate.ts";
import type { Json, JsonObject, Mode } from "../../../contract/call.ts";

const world = openCommands();
afterAll(world.close);
const { at, general, governed, judge, verdict } = world;

describe("R097: which commands run without asking", () => {
  test.each([
    "ls",
    "ls -la sub",
    "cat file.txt | grep -n x | wc -l",
    "ls; pwd",
    "ls && cat file.txt || df",
    "cat 'file.txt' \"file.txt\" file\\.txt",
    "ls >/dev/null 2>&1",
    "ls 2>/dev/null </dev/null",
    "cat <file.txt",
    "LC_ALL=C sort file.txt",
    "TZ=UTC date",
    "grep -e a/b file.txt",
    "ls \\\n -l",
    "ls # comment",
    "tail -n 5 -- -file",
    "jq '.a | .b' file.txt",
    "uniq file.txt",
    "stat -c '%s' file.txt",
    "grep 'a;b' file.txt",
    "cat - <file.txt",
    "grep --file= file.txt",
  ])("%j runs", async (command) => {
    const findings = await judge(command);
    expect(findings).toEqual([
      expect.objectContaining({ kind: "waive", reason: "listed_command", path: "/command" }),
    ]);
  });

  test.each([
    ["git status", "git is not on the run list"],
    ["./ls", "./ls is not on the run list"],
    ["/tmp/ls", "/tmp/ls is not on the run list"],
    [`${at("bin")}/../bin/ls`, "not on the run list"],
    ["node -e 1", "node is not on"],
    ["ls; id", "id is not on"],
    ["ls | sh", "sh is not on"],
    ["cat $(id)", "what $(id) becomes is not written out"],
    ["cat `id`", "what `id` becomes is not written out"],
    ["cat *.txt", "what *.txt becomes is not written out"],
    ["cat ~root/x", "what ~root/x becomes is not written out"],
    ["cat {a,b}", "not written out"],
    ['cat "$HOME"', "not written out"],
    ["cat $'a'", "not written out"],
    ["ls > out", 'it writes "out"'],
    [">out ls", 'it writes "out"'],
    ["ls >> sub/out", 'it writes "sub/out"'],
    ["ls &> out", "it writes"],
    ["ls >| out", "it writes"],
    ["ls <> out", "it writes"],
    ["ls > $X", "where $X leads"],
    ["cat ../x", '"../x" leads outside'],
    ["cat /tmp/x", "leads outside"],
    ["grep --file=/tmp/x a", '"/tmp/x" leads outside'],
    ["grep -f/tmp/x a", "leads outside"],
    ["grep -f../x a", '"../x" leads outside'],
    ["uniq a b", "with more than 1 operands it may write"],
    ["X=1 ls", "it sets the variable X"],
    ["X=1", "it sets the variable X"],
    ["export LANG=C", "export is not on"],
    ["ls &", "more than plain commands (Background)"],
    ["! ls", "(Negation)"],
    ["time ls", "more than plain"],
    ["(ls)", "(Subshell)"],
    ["{ ls; }", "(BraceGroup)"],
    ["if ls; then ls; fi", "(If)"],
    ["for i in a; do ls; done", "(For)"],
    ["ls() { cat; }; ls", "(Function)"],
    ["cat <<E\nx\nE\n", "(HereDoc)"],
    ["cat <<<x", "(HereString)"],
    ["cat <(ls)", "not written out"],
    ["env ls", "env is not on"],
    ["nohup $X", "nohup is not on"],
    ["find . -name x", "find is not on"],
    ["rm -rf sub", "rm is not on"],
    ["coproc ls", ""],
    ["eval ls", "eval is not on"],
    ["(ls) > out", "it writes"],
  ])("%j asks", async (command, why) => {
    const findings = await judge(command);
    expect(findings.map(({ kind, reason }) => `${kind} ${reason}`)).toContain("ask command_asks");
    expect(findings.every(({ kind }) => kind === "ask")).toBe(true);
    expect(findings.map(({ message }) => message).join()).toContain(why);
  });

  test("programs in folders of the fixed path are known by their names", async () => {
    expect(await verdict(`${at("bin")}/ls`)).toBe("run");
    expect(await verdict(`${at("bin")}/nothing`)).toBe("ask");
  });

  test("what the name leads to decides", async () => {
    const spare = governed({ [`path: [${at("bin")}, ${at("spare")}]`]: `path: [${at("spare")}]` });
    expect((await judge("ls", { governance: spare }))[0]?.message).toContain("ls is in none of");
    symlinkSync("/usr/bin/python3", at("spare/ls"));
    symlinkSync(at("bin/ls"), at("spare/cat"));
    writeFileSync(at("spare/busybox"), "");
    symlinkSync("busybox", at("spare/head"));
    writeFileSync(at("spare/sudo"), "");
    symlinkSync("sudo", at("spare/df"));
    const asked = await judge("ls", { governance: spare });
    expect(asked[0]?.message).toMatch(
      /ls (leads to python3?[\d.]*, which is not on the run list|is in none)/,
    );
    expect(await verdict("cat", { governance: spare })).toBe("run");
    // One file for many programs, of which each does what its name says.
    writeFileSync(at("spare/coreutils"), "");
    symlinkSync("coreutils", at("spare/wc"));
    expect(await verdict("wc file.txt", { governance: spare })).toBe("run");
    expect((await judge("head", { governance: spare }))[0]?.message).toContain(
      "head leads to busybox, which is not on the run list",
    );
    expect((await judge("df", { governance: spare }))[0]).toMatchObject({
      kind: "deny",
      message: expect.stringContaining("df leads to sudo") as string,
    });
  });

  test("lists by mode", async () => {
    expect(await verdict("sort file.txt", { mode: "ALERT" })).toBe("ask");
    expect(await verdict("cat file.txt", { mode: "ALERT" })).toBe("run");
    expect(await verdict("grep x file.txt", { mode: "DEGRADED" })).toBe("ask");
    expect(await verdict("df", { mode: "DEGRADED" })).toBe("run");
    expect(await verdict("ls", { mode: "RECOVERY" })).toBe("ask");
    expect((await judge("ls", { mode: "LOCKDOWN" }))[0]?.message).toContain(
      "not on the run list of LOCKDOWN",
    );
  });

  test("writing into the scratch folder asks nobody in NORMAL", async () => {
    const command = `ls > ${at("data/scratch/one/out")}`;
    expect(await verdict(command, { sessionId: "one" })).toBe("run");
    expect(await verdict(command, { sessionId: "one", mode: "ALERT" })).toBe("ask");
    expect(await verdict(command)).toBe("deny");
  });

  test("only the question about starting programs is taken back, not that of another class", async () => {
    const tool = testTool({ touches: SHELL.touches, effects: "network", risk: "dangerous" });
    const subject = {
      caller: testCaller(),
      tool,
      arguments: { command: "ls" },
      sessionId: null,
      mode: "NORMAL",
    } as const;
    expect(await general.judgeArguments(subject)).toEqual([]);
  });

  test("a listed program of which nobody has said how it reads its arguments is asked about", async () => {
    const governance = governed({
      "tools: {}": "tools:\n  system/probe: { commands: { run: { NORMAL: [id] } } }",
    });
    expect(await judge("id", { governance })).toMatchObject([
      {
        kind: "ask",
        message: expect.stringContaining("which options of id are harmless") as string,
      },
    ]);
  });

  test("a tool's own lists: run replaces, deny adds", async () => {
    const governance = governed({
      "tools: {}": "tools:\n  system/probe: { commands: { run: { NORMAL: [ls] }, deny: [wc] } }",
    });
    expect(await verdict("ls", { governance })).toBe("run");
    expect(await verdict("cat file.txt", { governance })).toBe("ask");
    expect(await verdict("wc file.txt", { governance })).toBe("deny");
  });
});

describe("what is refused without appeal", () => {
  test.each([
    ["sudo ls", "sudo is never run"],
    ["/usr/bin/sudo ls", "sudo is never run"],
    ["/tmp/sudo", "sudo is never run"],
    ["ls; sudo ls", "sudo"],
    ["ls $(sudo ls)", "sudo"],
    ["if x; then su; fi", "su is never run"],
    ["f() { reboot; }", "reboot"],
    ["time sudo ls", "sudo"],
    ["mkfs.ext4 x", "mkfs.ext4 is never run"],
    ["env sudo ls", "env would start sudo"],
    ["nohup /bin/su", "nohup would start su"],
    ["find . -exec sudo {} +", "find would start sudo"],
    ["sort -o x y", "sort -o is refused"],
    ["sort -nox y", "sort -o is refused"],
    ["sort --output=x y", "sort --output"],
    ["sort --outp x y", "sort --output"],
    ["rg --pre sh x", "rg --pre is refused"],
    ["sort --compress-program=sh x", "--compress-program"],
    ["date -s 1", "date -s"],
    ["nc -lp 1", "nc -l"],
    ["$X y", "is not written out"],
    ["l$(x)s", "is not written out"],
    ['"$0"', "is not written out"],
    ["LD_PRELOAD=x ls", "LD_PRELOAD may not be set"],
    ["http_proxy=x ls", "http_proxy may not be set"],
    ["PATH=. ls", "PATH"],
    ["export PATH=.", "PATH"],
    ["IFS=x", "IFS"],
    ["rm -rf .", "is not below the workspace"],
    ["rm -r ..", "not below"],
    ["rm -fR /", "not below"],
    ["rm --recursive ../x", "not below"],
    ["rm -rf sub/..", "not below"],
    [":(){ :|:& };:", "the function : calls :"],
    ["f() { g; }; g() { f; }; f", "calls"],
    ["f() { $X; }; f", "is not written out"],
    ["ls '", "unterminated"],
    ["ls $(", ""],
    ["ls |", ""],
    ["ls >", "expected redirect target"],
    ["cat $(ls >)", "expected redirect target"],
    ["{ ls; } >", "expected redirect target"],
    ["", "no command"],
    ["# only", "no command"],
    ["[[ -f x ]]", "no command"],
    ["ls\r", "control characters"],
    ["ls\0", "control characters"],
  ])("%j", async (command, why) => {
    const denied = (await judge(command)).filter(({ kind }) => kind === "deny");
    expect(denied[0]).toMatchObject({ reason: "command_forbidden", path: "/command" });
    expect(denied[0]?.message).toContain(why);
    expect(denied[0]?.suggestion).not.toBe("");
  });

  test.each([
    "cat /etc/passwd",
    "cat ~/.ssh/id",
    "head ../data/store.db",
    "cat <~/.ssh/id",
    "ls > /etc/x",
    "ls > .git/config",
    "git log > .env",
    "dd if=file.txt of=/dev/sda",
    "cp file.txt ~/.bashrc",
    "cat </dev/tcp/host/80",
    "grep --file=/etc/shadow x",
    "grep -f/etc/shadow x",
  ])("%j names a path that is forbidden", async (command) => {
    expect((await judge(command)).map(({ kind, reason }) => `${kind} ${reason}`)).toContain(
      "deny path_forbidden",
    );
  });

  test("what is too long or too deep", async () => {
    const texts = {
      "longer than": "x".repeat(8_193),
      "more than 1000 words": `ls ${"a ".repeat(1_001)}`,
      nest: `${"{ ".repeat(300)}ls${"; }".repeat(300)}`,
    };
    for (const [why, text] of Object.entries(texts))
      expect((await judge(text))[0]).toMatchObject({
        kind: "deny",
        reason: "command_forbidden",
        message: expect.stringContaining(why) as string,
      });
  });

  test("redirections out of the workspace are refused like paths", async () => {
    expect(await judge("ls > ../out")).toEqual([
      expect.objectContaining({ kind: "deny", reason: "path_not_allowed", value: "../out" }),
    ]);
    symlinkSync("circle", at("workspace/circle"));
    expect((await judge("cat < circle"))[0]).toMatchObject({
      kind: "deny",
      reason: "path_not_allowed",
    });
    rmSync(at("workspace/circle"));
  });

  test("an administrator may limit the operands of any listed program", async () => {
    const narrow = { "max_operands: { uniq: 1 }": "max_operands: { uniq: 1, cat: 2 }" };
    const governance = governed(narrow);
    expect(await verdict("cat file.txt file.txt", { governance })).toBe("run");
    expect(await verdict("cat -n file.txt file.txt", { governance })).toBe("run");
    expect(await judge("cat file.txt file.txt sub", { governance })).toMatchObject([
      { kind: "ask", message: expect.stringContaining("with more than 2 operands") as string },
    ]);
    expect(await verdict("cat file.txt file.txt sub")).toBe("run");
  });

  test.each([
    ["blocks", `${"{ ".repeat(150)}ls; ${"}; ".repeat(150)}`],
    ["substitutions", `${"echo $(".repeat(90)}ls${")".repeat(90)}`],
  ])("%s nested deeper than anybody writes are refused", async (_what, command) => {
    expect(await judge(command)).toMatchObject([
      { kind: "deny", message: expect.stringContaining("nested too deeply") as string },
    ]);
  });

  test("options after -- are operands", async () => {
    expect(await verdict("sort -- -o")).toBe("run");
  });
});

describe("argv: a program and its arguments without a shell", () => {
  test.each<[string, string[]]>([
    ["run", ["ls", "-la"]],
    ["run", ["cat", "a;b", "$(id)", "`x`", "*"]],
    ["ask", ["git", "status"]],
    ["ask", ["cat", "../x"]],
    ["ask", ["./ls"]],
    ["deny", ["sudo", "ls"]],
    ["deny", ["env", "sudo"]],
    ["deny", ["sort", "-o", "x"]],
    ["deny", ["cat", "/etc/passwd"]],
    ["deny", ["rm", "-rf", "."]],
    ["deny", []],
    ["deny", [""]],
    ["deny", ["ls", "a\0b"]],
  ])("%s: %j", async (expected, argv) => {
    expect(await verdict(argv)).toBe(expected);
  });

  test("a list that holds more than texts is refused; a text is taken apart like a shell would", async () => {
    expect(await verdict(["ls", 5])).toBe("deny");
    expect(await verdict(["ls", ...Array<string>(1_001).fill("a")])).toBe("deny");
    const judged = (command: Json) =>
      general.judgeArguments({
        caller: testCaller(),
        tool: ARGV,
        arguments: { command },
        sessionId: null,
        mode: "NORMAL",
      });
    expect(await judged("ls -l")).toMatchObject([{ kind: "waive" }]);
    expect(await judged("ls; sudo x")).toMatchObject([{ kind: "deny" }]);
    expect(await judged({ a: 1 })).toMatchObject([
      {
        kind: "deny",
        reason: "command_forbidden",
        message: expect.stringContaining("a list of texts") as string,
      },
    ]);
  });
});

describe("what an approver is told of each command", () => {
  const tool = testTool({
    touches: [
      { argument: "/path", kind: "path" },
      { argument: "/command", kind: "argv", from: "/cwd" },
    ],
    effects: "system_dangerous",
    risk: "dangerous",
  });
  const told = async (given: JsonObject, of = tool, mode: Mode = "NORMAL") =>
    (
      await general.judgeCommands({
        caller: testCaller(),
        tool: of,
        arguments: given,
        sessionId: null,
        mode,
      })
    ).map(({ text, verdict: what }) => `${what}: ${text}`);

  test("a program and its arguments are one command", async () => {
    expect(await told({ command: ["ls", "-la"] })).toEqual(["run: ls -la"]);
    expect(await told({ command: ["git", "status"] })).toEqual(["ask: git status"]);
    expect(await told({ command: ["cat", "a;b"] })).toEqual(["run: cat a;b"]);
    expect(await told({ command: ["env", "sudo"] })).toEqual(["deny: env sudo"]);
    expect(await told({ command: ["ls"] }, tool, "LOCKDOWN")).toEqual(["ask: ls"]);
  });

  test("a line has a verdict for each of its commands, and one of its own where it needs one", async () => {
    expect(await told({ command: "ls && git status; sudo x" })).toEqual([
      "run: ls",
      "ask: git status",
      "deny: sudo x",
    ]);
    expect(await told({ command: "ls &" })).toEqual(["run: ls", "ask: ls &"]);
    expect(await told({ command: "ls '" })).toEqual(["deny: ls '"]);
    // Two questions about one command make one verdict.
    expect(await told({ command: "X=1 Y=2 ls" })).toEqual(["ask: X=1 Y=2 ls"]);
    expect(await told({ command: "(ls) > out" })).toEqual(["ask: (ls) > out", "run: ls"]);
  });

  test("what names no program is refused", async () => {
    expect(await told({ command: [] })).toEqual(["deny: "]);
    expect(await told({ command: ["", "x"] })).toEqual(["deny:  x"]);
    // Nor does a person's yes help what is not understood.
    expect(await told({ command: ["git", "a\0b"] })).toEqual(["deny: git a\0b"]);
    const long = `git ${"a ".repeat(1_001)}`;
    expect(await told({ command: long })).toEqual([`deny: ${long}`]);
  });

  test("relative paths start from the folder the program is started in", async () => {
    expect(await told({ command: ["cat", "../x"] })).toEqual(["ask: cat ../x"]);
    expect(await told({ command: ["cat", "../x"], cwd: "sub" })).toEqual(["run: cat ../x"]);
    expect(await told({ command: ["cat", "../x"], cwd: 5 })).toEqual(["ask: cat ../x"]);
  });

  test("several lines are told in their order", async () => {
    expect(await told({ command: ["ls", "sudo x"] }, SHELL)).toEqual(["run: ls", "deny: sudo x"]);
  });

  test("a call that names no command, or what is none, has nothing to tell", async () => {
    expect(await told({ path: "file.txt" })).toEqual([]);
    expect(await told({ command: 5 })).toEqual([]);
    expect(await told({ command: ["ls", 5] })).toEqual([]);
  });
});

test.skipIf(!existsSync(COMMAND_CORPUS))(
  "T32: every line of the command-injection corpus behind a listed command is judged",
  async () => {
    const { texts } = commandCorpus();
    const verdicts = new Map<string, number>();
    for (const text of texts) {
      const found = await verdict(text);
      verdicts.set(found, (verdicts.get(found) ?? 0) + 1);
    }
    expect(texts.size).toBeGreaterThan(5_000);
    expect([...verdicts.keys()].sort()).toEqual(["ask", "deny", "run"]);
  },
);
