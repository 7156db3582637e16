// The grammars of the programs on the shipped run lists (GNU coreutils, grep and diff, ripgrep, jq). Left out on
// purpose: whatever writes a file, starts a program, reads names of files from elsewhere or sets something.
import { grammarOf, type Grammar, type GrammarText } from "./grammar.ts";

const DIGITS = "-0123456789";

const TEXTS: Readonly<Record<string, GrammarText>> = {
  ls: {
    flags:
      "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 --all --almost-all --author --escape --ignore-backups --directory --no-group " +
      "--human-readable --si --dereference-command-line --inode --kibibytes --dereference --numeric-uid-gid --literal " +
      "--hide-control-chars --show-control-chars --quote-name --reverse --recursive --size --context --zero " +
      "--group-directories-first --file-type --full-time",
    values:
      "-ITw --block-size --format --hide --indicator-style --ignore --quoting-style --sort --time --time-style --tabsize --width",
    optional: "--color --classify --hyperlink",
  },
  pwd: { flags: "-LP --logical --physical", operands: 0 },
  cat: {
    flags:
      "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting",
  },
  head: {
    flags: `-qvz ${DIGITS} --quiet --silent --verbose --zero-terminated`,
    values: "-cn --bytes --lines",
  },
  tail: {
    flags: `-qvzfF ${DIGITS} --quiet --silent --verbose --zero-terminated --retry`,
    values: "-cns --bytes --lines --sleep-interval",
    optional: "--follow",
  },
  wc: {
    flags: "-clLmw --bytes --chars --lines --max-line-length --words",
    values: "--total",
  },
  sort: {
    flags:
      "-bcCdfghiMmnRrsuVz --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort " +
      "--ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort " +
      "--stable --unique --zero-terminated --merge --debug",
    values: "-kt --key --field-separator --sort",
    optional: "--check",
  },
  uniq: {
    flags: `-cdDiuz ${DIGITS} --count --repeated --ignore-case --unique --zero-terminated`,
    values: "-fsw --skip-fields --skip-chars --check-chars",
    optional: "--all-repeated --group",
    // The second is written to.
    operands: 1,
  },
  grep: {
    flags:
      `-EFGPiyvwxcLloqsbHhnTUZaIrRz ${DIGITS} --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case ` +
      "--no-ignore-case --invert-match --word-regexp --line-regexp --count --files-without-match --files-with-matches " +
      "--only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename --line-number " +
      "--initial-tab --null --text --recursive --dereference-recursive --null-data --line-buffered --binary",
    values:
      "-efmABCdD --regexp --file --max-count --after-context --before-context --context --label --binary-files --devices " +
      "--directories --exclude --exclude-from --exclude-dir --include",
    optional: "--color --colour",
  },
  rg: {
    flags:
      "-acFHhiIlLnNopPqsSUuvVwx0. --block-buffered --byte-offset --case-sensitive --column --count --count-matches --crlf " +
      "--files --files-with-matches --files-without-match --fixed-strings --follow --glob-case-insensitive --heading " +
      "--hidden --ignore-case --include-zero --invert-match --json --line-buffered --line-number --line-regexp " +
      "--max-columns-preview --mmap --multiline --multiline-dotall --no-config --no-filename --no-heading --no-hidden " +
      "--no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages " +
      "--no-ignore-parent --no-ignore-vcs --no-line-number --no-messages --no-mmap --no-unicode --null --null-data " +
      "--one-file-system --only-matching --passthru --pcre2 --pretty --quiet --smart-case --stats --text --trim " +
      "--type-list --unrestricted --vimgrep --with-filename --word-regexp --binary --no-binary",
    values:
      "-ABCEefgjmMrtTd --after-context --before-context --color --colors --context --context-separator --dfa-size-limit " +
      "--encoding --engine --file --field-context-separator --field-match-separator --glob --iglob --ignore-file " +
      "--max-columns --max-count --max-depth --max-filesize --path-separator --regexp --regex-size-limit --replace --sort " +
      "--sortr --threads --type --type-not",
  },
  stat: {
    flags: "-Lft --dereference --file-system --terse",
    values: "-c --format --printf --cached",
  },
  du: {
    flags:
      "-0abcDhHklLmPsSx --null --all --apparent-size --bytes --total --dereference-args --human-readable --si --dereference " +
      "--no-dereference --separate-dirs --summarize --one-file-system --count-links --inodes",
    values: "-BdtX --block-size --max-depth --threshold --exclude --exclude-from --time-style",
    optional: "--time",
  },
  df: {
    flags:
      "-ahHiklPTv --all --human-readable --si --inodes --local --no-sync --portability --print-type --total",
    values: "-Btx --block-size --type --exclude-type",
    optional: "--output",
  },
  // Any other operand sets the clock.
  date: {
    flags: "-uR --utc --universal --rfc-email --debug",
    values: "-drf --date --reference --file --rfc-3339",
    optional: "-I --iso-8601",
    operands: 1,
    operandStart: "+",
  },
  uname: {
    flags:
      "-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor " +
      "--hardware-platform --operating-system",
    operands: 0,
  },
  diff: {
    flags:
      `-abBcdeEfHiNnpPqrstTuwy ${DIGITS} --normal --brief --report-identical-files --side-by-side --expand-tabs --initial-tab ` +
      "--recursive --no-dereference --new-file --unidirectional-new-file --ignore-case --ignore-file-name-case " +
      "--no-ignore-file-name-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change " +
      "--ignore-all-space --ignore-blank-lines --strip-trailing-cr --text --minimal --speed-large-files --left-column " +
      "--suppress-common-lines --show-c-function --ed --rcs --suppress-blank-empty",
    values:
      "-CUFIWxXSL --show-function-line --label --width --tabsize --starting-file --exclude --exclude-from " +
      "--ignore-matching-lines --horizon-lines --palette --from-file --to-file",
    optional: "--unified --context --color",
  },
  cut: {
    flags: "-nsz --complement --only-delimited --zero-terminated",
    values: "-bcdf --bytes --characters --delimiter --fields --output-delimiter",
  },
  tr: { flags: "-cCdst --complement --delete --squeeze-repeats --truncate-set1" },
  jq: {
    flags:
      "-nrcsRaSCMehjfV --null-input --raw-output --raw-output0 --join-output --compact-output --slurp --raw-input " +
      "--ascii-output --sort-keys --color-output --monochrome-output --exit-status --tab --unbuffered --stream " +
      "--stream-errors --seq --args --jsonargs --from-file",
    values: "--indent",
    pairs: "--arg --argjson --slurpfile --rawfile",
  },
};

export const GRAMMARS: ReadonlyMap<string, Grammar> = new Map(
  Object.entries(TEXTS).map(([name, text]) => [name, grammarOf(text)]),
);
