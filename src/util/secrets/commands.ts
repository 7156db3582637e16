// Passwords on command lines: `mysql -pSECRET`, `sshpass -p SECRET`, `curl -u user:SECRET`. What an option means
// depends on the program: `-p` is a password of one, a port of another and a way to make folders of a third.
import { isPlaceholder, looksMade } from "./appearance.ts";
import { see, seenTo, matchAt, type Detector, type ScanState } from "./scan.ts";

export interface Program {
  /** How its names begin, three letters at least. */
  readonly words: readonly string[];
  readonly names: string;
  /** Its options with a secret; `attached` ones have it in the same word. */
  readonly attached?: RegExp;
  readonly separate?: RegExp;
  /** Options whose value is `user:password`, or another sign between them. */
  readonly pair?: { readonly option: RegExp; readonly sign: string };
  /** Only behind this word, as `docker login`. */
  readonly after?: string;
  /** What comes behind its secret is a command of its own. */
  readonly wraps?: true;
}

const PROGRAMS: readonly Program[] = [
  {
    words: ["mysql", "mariadb"],
    names: String.raw`(?:mysql|mariadb)(?:-?[a-z]{2,12})?`,
    attached: /^-p/,
  },
  { words: ["sshpass"], names: "sshpass", attached: /^-p/, separate: /^-p$/, wraps: true },
  {
    words: ["redis-cli", "valkey-cli", "keydb-cli"],
    names: "(?:redis|valkey|keydb)-cli",
    separate: /^(?:-a|--pass)$/,
  },
  {
    words: ["mongo"],
    names: "mongo(?:sh|dump|restore|export|import|files|stat|top)?",
    attached: /^-p/,
    separate: /^-p$/,
  },
  {
    words: ["docker", "podman", "nerdctl", "helm", "oras", "crane", "buildah", "az "],
    names: "docker|podman|nerdctl|helm|oras|crane|buildah|az",
    separate: /^-p$/,
    after: "login",
  },
  {
    words: [
      "cqlsh",
      "rabbitmqadmin",
      "twine",
      "rdesktop",
      "influx",
      "clickhouse-client",
      "impala-shell",
      "beeline",
      "monetdb",
      "vsql",
      "isql",
    ],
    names:
      "cqlsh|rabbitmqadmin|twine|rdesktop|influx|clickhouse-client|impala-shell|beeline|vsql|isql",
    separate: /^(?:-p|-pass|-password|-w|-P)$/,
  },
  {
    words: ["ldap"],
    names: "ldap(?:search|add|modify|delete|passwd|whoami|compare|modrdn)",
    attached: /^-w/,
    separate: /^-[ws]$/,
  },
  {
    words: ["sqlcmd", "bcp", "osql", "ipmitool", "mosquitto_"],
    names: "sqlcmd|bcp|osql|ipmitool|mosquitto_(?:pub|sub|rr)",
    attached: /^-P(?=\D)/,
    separate: /^-(?:P|pw)$/,
  },
  { words: ["zip", "unzip", "zipcloak"], names: "(?:un)?zip", attached: /^-P/, separate: /^-P$/ },
  {
    words: ["7z ", "7za", "7zr", "7zz", "rar", "unrar"],
    names: "7z[arz]?|(?:un)?rar",
    attached: /^-(?:h?p)(?=.)/,
  },
  { words: ["plink", "pscp", "psftp"], names: "plink|pscp|psftp", separate: /^-pw$/ },
  {
    words: ["openssl"],
    names: "openssl",
    attached: /^pass:/,
    separate: /^-(?:k|K|pass|passwd|passin|passout)$/,
  },
  {
    words: ["keytool", "jarsigner"],
    names: "keytool|jarsigner",
    separate: /^-(?:store|key|deststore|srcstore|destkey|srckey|new)pass$/,
  },
  {
    words: ["snmp"],
    names: "snmp(?:walk|get|set|bulkwalk|bulkget|table|trap)",
    separate: /^-[AX]$/,
  },
  { words: ["xfreerdp"], names: "[xw]freerdp3?", attached: /^\/p:/ },
  {
    words: ["curl"],
    names: "curl",
    attached: /^-u(?=[^\s:]{1,200}:)/,
    pair: { option: /^(?:-u|-U|--user|--proxy-user)$/, sign: ":" },
  },
  {
    words: ["http", "xh ", "xhs"],
    names: "https?|xhs?",
    pair: { option: /^(?:-a|--auth)$/, sign: ":" },
  },
  {
    words: ["smbclient", "rpcclient", "smbget", "smbmap"],
    names: "smb(?:client|get|map)|rpcclient",
    pair: { option: /^(?:-U|--user)$/, sign: "%" },
  },
  { words: ["lftp"], names: "lftp", pair: { option: /^(?:-u|--user)$/, sign: "," } },
  { words: ["skopeo"], names: "skopeo", pair: { option: /^--(?:src-|dest-)?creds$/, sign: ":" } },
];

/** A part of an argument that is a secret: from `start` to its end. */
export interface SecretArgument {
  readonly index: number;
  readonly start: number;
}

/** By the two letters they begin with. */
const BY_NAME = Map.groupBy(
  PROGRAMS.flatMap((program) =>
    [...new Set(program.words.map((word) => word.slice(0, 2)))].map((beginning) => ({
      beginning,
      program,
      name: new RegExp(`^(?:${program.names})(?:\\.exe)?$`, "i"),
    })),
  ),
  ({ beginning }) => beginning,
);
const MAX_NAME = 40;
const MAX_PATH = 400;

/** `mysql` of `/usr/bin/mysql`. */
export function programOf(word: string): Program | null {
  if (word.length > MAX_PATH) return null;
  const name = word.slice(Math.max(word.lastIndexOf("/"), word.lastIndexOf("\\")) + 1);
  if (name.length > MAX_NAME) return null;
  const near = BY_NAME.get(name.slice(0, 2).toLowerCase());
  return near?.find((one) => one.name.test(name))?.program ?? null;
}

/** `-p` of any other program may be anything: what stands behind it must look like a secret. */
const UNKNOWN: Program = { words: [], names: "" };
const SEPARATOR = /^(?:&&?|\|\|?|;)$/;

/** Which of the arguments of a program hold a secret. Another program among them goes on with its own options. */
export function secretArguments(
  words: readonly (string | null)[],
  first: Program | null,
): readonly SecretArgument[] {
  let program = first;
  let ready = program?.after === undefined;
  const found: SecretArgument[] = [];
  words.forEach((word, index) => {
    // The value of the option before it was taken.
    if (word === null || word === "" || found.at(-1)?.index === index) return;
    if (SEPARATOR.test(word)) program = null;
    const other = word.startsWith("-") ? null : programOf(word);
    if (other) {
      program = other;
      ready = other.after === undefined;
    } else if (program && !ready) ready = word === program.after;
    else {
      const secret = secretAt(program ?? UNKNOWN, word, words[index + 1] ?? "", index);
      if (secret) found.push(secret);
      if (program?.wraps && (secret || !word.startsWith("-") || program.separate?.test(word)))
        program = null;
    }
  });
  return found;
}

function secretAt(
  program: Program,
  word: string,
  next: string,
  index: number,
): SecretArgument | null {
  const start = startIn(program, word);
  if (start > 0) return { index, start };
  if (program === UNKNOWN)
    return word === "-p" && looksMade(next) && looksStrong(next)
      ? { index: index + 1, start: 0 }
      : null;
  if (program.separate?.test(word))
    return isGiven(next) ? { index: index + 1, start: prefixOf(next) } : null;
  if (!program.pair?.option.test(word)) return null;
  const sign = next.indexOf(program.pair.sign) + 1;
  return sign > 0 && isGiven(next.slice(sign)) ? { index: index + 1, start: sign } : null;
}

/** Where the secret begins in a word that has it behind its option; 0 where there is none. */
function startIn({ attached, pair }: Program, word: string): number {
  const option = attached?.exec(word)?.[0];
  if (option !== undefined) {
    const start = pair ? word.indexOf(pair.sign) + 1 : option.length;
    return isGiven(word.slice(start)) && !isWordOption(word, option) ? start : 0;
  }
  // `--user=name:secret`
  const equals = pair ? word.indexOf("=") : -1;
  if (!pair || equals < 0 || !pair.option.test(word.slice(0, equals))) return 0;
  const sign = word.indexOf(pair.sign, equals);
  return sign > 0 && isGiven(word.slice(sign + 1)) ? sign + 1 : 0;
}

/** `-port` and `-protocol` are options themselves. */
const isWordOption = (word: string, option: string): boolean =>
  option === "-p" && /^-p(?:ort|rotocol|ager|ipe|lugin-dir)(?:=|$)/.test(word);

const prefixOf = (value: string): number => /^(?:pass|file|env|fd):/.exec(value)?.[0].length ?? 0;

const isGiven = (value: string): boolean =>
  value !== "" && !/^(?:file|env|fd):|^-/.test(value) && !isPlaceholder(value.slice(0, 256));

const LONGEST_COMMAND = 4_000;

const commandLine = ({ words, names }: Program): Detector => {
  const program = new RegExp(String.raw`(?<![\w.-])(?:${names})(?:\.exe)?(?=[ \t\\])`, "iy");
  return {
    words,
    detect(text, at, found) {
      if (at < seenTo(found, PROGRAMS)) return;
      if (matchAt(program, text, at)) readCommand(text, at, found);
    },
  };
};

/** Nothing that could be an option with a secret: nearly all prose. */
const OPTION = /[\s"'][-/][A-Za-z-]|pass:/;

/** One line of commands to its end; what was read is not read again for a program that is named inside it. */
function readCommand(text: string, at: number, found: ScanState): void {
  const near = text.slice(at, at + LONGEST_COMMAND);
  const end = /(?<!\\)[\r\n]/.exec(near)?.index ?? near.length;
  see(found, PROGRAMS, at + end);
  const line = near.slice(0, end);
  if (!OPTION.test(line)) return;
  const words = wordsOf(line);
  const spelt = words.map(({ word }) => word);
  for (const { index, start } of secretArguments(spelt, null)) {
    const { word = "", from = 0, head = 0, rest = 0 } = words[index] ?? {};
    const begin = start < head ? from + start : rest + start - head;
    found.spans.push({ start: at + begin, end: at + rest + word.length - head });
  }
}

interface Word {
  /** Without its quotes. */
  readonly word: string;
  readonly from: number;
  /** So many of its characters stand before a quote; the rest begins at `rest`. */
  readonly head: number;
  readonly rest: number;
}

const BARE_END = /[\s"'\x60;|&<>]/g;
const BLANK = /\s/;

/**
 * The words of a line as a shell reads them, near enough: in quotes, an option before quotes, signs between commands.
 */
function wordsOf(line: string): readonly Word[] {
  const words: Word[] = [];
  for (let from = 0; from < line.length;) {
    if (BLANK.test(line[from] ?? "")) {
      from++;
      continue;
    }
    BARE_END.lastIndex = from;
    const stop = BARE_END.test(line) ? BARE_END.lastIndex - 1 : line.length;
    const quote = line[stop] ?? "";
    // `\"` of a line inside JSON.
    const bare = withoutBackslashes(line, from, QUOTES.includes(quote) ? stop : from);
    const close = quote !== "" && QUOTES.includes(quote) ? line.indexOf(quote, stop + 1) : -1;
    if (close > 0) {
      const last = withoutBackslashes(line, stop + 1, close);
      const head = bare - from;
      words.push({
        word: line.slice(from, bare) + line.slice(stop + 1, last),
        from,
        head,
        rest: stop + 1,
      });
      from = close + 1;
    } else {
      const next = Math.max(stop, from + 1);
      words.push({ word: line.slice(from, next), from, head: 0, rest: from });
      from = next;
    }
  }
  return words;
}

const QUOTES = "\"'`";

function withoutBackslashes(line: string, from: number, to: number): number {
  let end = to;
  while (end > from && line[end - 1] === "\\") end--;
  return end;
}

/** `-pS3cr3t` and `-p S3cr3t` of whatever program, where it looks like one. */
const anywhere: Detector = {
  words: [" -p", '"-p', "'-p", "=-p", ",-p", "\n-p"],
  detect(text, at, found) {
    const match = matchAt(PASSED, text, at + 1);
    const [all = "", blank = "", value = ""] = match ?? [];
    if (
      value === "" ||
      !looksMade(value) ||
      !(blank === "" ? looksMixed(value) : looksStrong(value))
    )
      return;
    const start = at + 1 + all.length - value.length;
    found.spans.push({ start, end: start + value.length });
  },
};
const PASSED = /-p(\s{0,3}["']?)([^\s"'\x60,;|&<>=:/\\.-]{8,200})(?![^\s"'\x60,;|&<>)])/y;
/** Digits among the letters, not only behind them as in `-python312`. */
const looksMixed = (value: string): boolean =>
  /\d[^\d]*[A-Za-z!@#$%^*+?]/.test(value) || /[a-z].*[A-Z].*\d|[!@#$%^*+?]/.test(value);
/** More than a name with a number behind it. */
const looksStrong = (value: string): boolean =>
  /[!@#$%^*+?]/.test(value) ||
  (/[a-z]/.test(value) &&
    /[A-Z]/.test(value) &&
    /\d/.test(value) &&
    !/^[A-Za-z]+\d{0,4}$/.test(value));

export const COMMANDS: readonly Detector[] = [...PROGRAMS.map(commandLine), anywhere];
