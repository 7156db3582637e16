// What the files power refuses and how much it takes, as data: a governance file may replace it.

export interface FileRules {
  /** Folders allowed besides the workspace. */
  readonly allowed: readonly string[];
  /** Files and folders nobody may touch, with all that is below them, existing or not. `$HOME` stands for the home folder. */
  readonly forbidden: readonly string[];
  readonly maxReadBytes: number;
  readonly maxListEntries: number;
  /** How many entries a listing may look at, accepted or not. */
  readonly maxVisitedEntries: number;
}

const HOME_SECRETS = [
  ".ssh", ".gnupg", ".aws", ".config/gcloud", ".kube", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
] as const; // prettier-ignore

const SHELL_START_UP = [
  ".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".zshrc", ".zshenv", ".zprofile",
  ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".config/fish",
] as const; // prettier-ignore

const SYSTEM = [
  "/etc", "/proc", "/sys", "/dev", "/boot", "/System", "/Library",
] as const; // prettier-ignore

export const FILE_RULES: FileRules = {
  allowed: [],
  forbidden: [...[...HOME_SECRETS, ...SHELL_START_UP].map((name) => `$HOME/${name}`), ...SYSTEM],
  maxReadBytes: 10_485_760,
  maxListEntries: 10_000,
  maxVisitedEntries: 200_000,
};
