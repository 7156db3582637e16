// Completion scripts, written from the command tree itself: no second list of names.
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";

export function define(command: Command, cli: Cli): void {
  command.argument("<shell>", "bash, zsh or fish").action(async (shell: string) => {
    const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
    if (!write) throw usage(`unknown shell ${JSON.stringify(shell)}`, "bash, zsh or fish");
    const script = write(wordsOf(await cli.tree()));
    if (cli.flags.json) cli.term.printJson({ shell, script });
    else cli.stdout.write(script);
  });
}

/** Path of a command ("" is the top, "keys create" a verb) to what may follow it. */
interface Words {
  path: string;
  verbs: { name: string; about: string }[];
  flags: { name: string; about: string; value: boolean }[];
}

function wordsOf(program: Command): Words[] {
  const found: Words[] = [];
  const flagsOf = (command: Command) =>
    command.options.flatMap((option) =>
      option.long ? [{ name: option.long, about: option.description, value: option.required }] : [],
    );
  const global = [...flagsOf(program), { name: "--help", about: "show help", value: false }];
  const walk = (command: Command, path: string) => {
    const own = command === program ? [] : flagsOf(command);
    found.push({
      path,
      verbs: [
        ...command.commands.map((verb) => ({ name: verb.name(), about: verb.description() })),
        ...command.registeredArguments.flatMap(({ argChoices = [] }) =>
          argChoices.map((name) => ({ name, about: "" })),
        ),
      ],
      flags: [...own, ...global],
    });
    for (const verb of command.commands) walk(verb, `${path} ${verb.name()}`.trim());
  };
  walk(program, "");
  return found;
}

const SHELLS: Record<string, (words: Words[]) => string> = { bash, zsh, fish };

function bash(words: Words[]): string {
  const cases = words.map(
    ({ path, verbs, flags }) =>
      `    ${JSON.stringify(path)}) words=${JSON.stringify([...verbs, ...flags].map(({ name }) => name).join(" "))} ;;`,
  );
  const paths = words.filter(({ path }) => path !== "").map(({ path }) => JSON.stringify(path));
  return `# ostiary completion for bash: source <(ostiary completion bash)
_ostiary() {
  local word path="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "\${path:+$path }$word" in
      ${paths.join(" | ")}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _ostiary ostiary
`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function zsh(words: Words[]): string {
  const item = ({ name, about }: { name: string; about: string }) =>
    quoted(`${name}:${about.replaceAll(":", "\\:")}`);
  const cases = words.map(
    ({ path, verbs, flags }) =>
      `    ${quoted(path)}) items=(${[...verbs, ...flags].map(item).join(" ")}) ;;`,
  );
  const paths = words.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  return `#compdef ostiary
# ostiary completion for zsh: ostiary completion zsh > "\${fpath[1]}/_ostiary"
_ostiary() {
  local path_so_far="" word
  local -a items
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${path_so_far:+$path_so_far }$word" in
      ${paths.join(" | ")}) path_so_far="\${path_so_far:+$path_so_far }$word" ;;
    esac
  done
  case "$path_so_far" in
${cases.join("\n")}
  esac
  _describe 'ostiary' items || _files
}
if [ "$funcstack[1]" = "_ostiary" ]; then _ostiary "$@"; else compdef _ostiary ostiary; fi
`;
}

function fish(words: Words[]): string {
  const lines = words.flatMap(({ path, verbs, flags }) => {
    const when = `-n ${quoted(`__ostiary_at ${quoted(path)}`)}`;
    return [
      ...verbs.map(
        ({ name, about }) => `complete -c ostiary ${when} -f -a ${name} -d ${quoted(about)}`,
      ),
      ...flags.map(
        ({ name, about, value }) =>
          `complete -c ostiary ${when} -l ${name.slice(2)}${value ? " -r" : ""} -d ${quoted(about)}`,
      ),
    ];
  });
  const paths = words.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  return `# ostiary completion for fish: ostiary completion fish > ~/.config/fish/completions/ostiary.fish
function __ostiary_at
  set -l so_far
  for word in (commandline -opc)[2..-1]
    set -l longer (string join ' ' $so_far $word)
    contains -- $longer ${paths.join(" ")}; and set so_far $so_far $word
  end
  test (string join ' ' -- $so_far) = "$argv[1]"
end
${lines.join("\n")}
`;
}
