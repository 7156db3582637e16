// Commands, judged as the gate asks. What is judged "run" is also run, by a real shell with counting stand-ins.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { testCaller, testTool } from "../../../../test/fixtures/gate.ts";
import { governanceOf, shippedFiles } from "../../../../test/fixtures/governance.ts";
import type { Json, Mode } from "../../../contract/call.ts";
import type { Touch } from "../../../contract/tool.ts";
import type { ArgumentFinding, Governance } from "../governance.ts";
import { takeApart } from "./shell.ts";

const CORPUS = resolve(
  import.meta.dirname,
  "../../../../../shared/corpora/command-injection/command-injection.txt",
);
const LISTED = [
  "ls",
  "pwd",
  "cat",
  "head",
  "tail",
  "wc",
  "sort",
  "uniq",
  "grep",
  "rg",
  "stat",
  "du",
  "df",
  "date",
  "uname",
  "diff",
  "cut",
  "tr",
  "jq",
];
const root = realpathSync(mkdtempSync(join(tmpdir(), "ostiary-commands-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const at = (name: string): string => join(root, name);
for (const folder of ["workspace/sub", "home", "data/scratch/one", "bin", "spare"])
  mkdirSync(at(folder), { recursive: true });
writeFileSync(at("workspace/file.txt"), "x");
/** Stand-ins that write down under which name they were started. */
const LOG = at("started.log");
for (const name of [...LISTED, "id"]) {
  writeFileSync(at(`bin/${name}`), `#!/bin/sh\nprintf '%s\\n' "\${0##*/}" >>'${LOG}'\n`);
  chmodSync(at(`bin/${name}`), 0o755);
}

const PATHS = { "path: [/usr/local/bin, /usr/bin, /bin]": `path: [${at("bin")}, ${at("spare")}]` };
const governed = (change: Record<string, string> = {}): Governance =>
  governanceOf(
    {
      workspace: at("workspace"),
      home: at("home"),
      dataDir: at("data"),
      scratchOf: (_caller, id) => at(`data/scratch/${id}`),
      tools: ["system/probe"],
    },
    shippedFiles({ ...PATHS, ...change }),
  );
const general = governed();

const toolFor = (kind: Touch["kind"]) =>
  testTool({
    touches: [{ argument: "/command", kind }],
    effects: "system_dangerous",
    risk: "dangerous",
  });
const SHELL = toolFor("command");
const ARGV = toolFor("argv");
interface Asked {
  governance?: Governance;
  mode?: Mode;
  sessionId?: string | null;
}
async function judge(
  command: Json,
  { governance = general, mode = "NORMAL", sessionId = null }: Asked = {},
): Promise<readonly ArgumentFinding[]> {
  const tool = Array.isArray(command) ? ARGV : SHELL;
  return governance.judgeArguments({
    caller: testCaller(),
    tool,
    arguments: { command },
    sessionId,
    mode,
  });
}
/** run, ask or deny, as the gate would take it. */
async function verdict(command: Json, asked?: Asked): Promise<string> {
  const kinds = (await judge(command, asked)).map(({ kind }) => kind);
  return kinds.includes("deny")
    ? "deny"
    : kinds.includes("ask")
      ? "ask"
      : kinds.includes("waive")
        ? "run"
        : "nothing";
}

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
    ["ls '", "unterminated"],
    ["ls $(", ""],
    ["ls |", ""],
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

describe("T32: the command-injection corpus", () => {
  const decode = (text: string): string => {
    try {
      return decodeURIComponent(text.replaceAll("+", "%20"));
    } catch {
      return text;
    }
  };

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

  test.skipIf(!existsSync(CORPUS))(
    "a line behind a listed command runs unasked only when the shell starts nothing but listed programs",
    { timeout: 300_000 },
    async () => {
      const lines = readFileSync(CORPUS, "utf8")
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"));
      const before = readdirSync(at("workspace"));
      const counts: Record<string, number> = { lines: lines.length, run: 0, ask: 0, deny: 0 };
      const forms = lines.flatMap((line) => [line, decode(line), decode(decode(line))]);
      const texts = new Set(
        forms.flatMap((text) => [`cat ${text}`, `cat '${text}'`, `cat "${text}"`]),
      );
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
