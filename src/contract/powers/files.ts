export interface FileStat {
  path: string;
  type: "file" | "dir" | "link" | "other";
  sizeBytes: number;
  modifiedMs: number;
  target?: string;
}

export interface FileDetails extends FileStat {
  createdMs: number;
  /** Permission bits. */
  mode: number;
}

export interface Written {
  path: string;
  created: boolean;
  bytes: number;
  sha256: string;
  /** Of what was there before; null when nothing was. */
  previousSha256: string | null;
}

/**
 * Files of the workspace, every path resolved and judged before it is touched, and what was opened compared with what
 * was judged. Writes are atomic, keep the mode bits, never follow a link out and never give an execute bit.
 */
export interface FilesPower {
  /** The whole file; a larger one than `maxBytes` (or the rule's own limit) is refused with size_exceeded. */
  read(
    path: string,
    options: { maxBytes: number },
  ): Promise<{
    path: string;
    bytes: Uint8Array;
    sizeBytes: number;
    modifiedMs: number;
    sha256: string;
  }>;
  /**
   * `accept` also gets the path within the listed folder; `respectIgnore` leaves out what .gitignore files do.
   * `total` counts what was accepted, `entries` stops at `maxEntries`.
   */
  list(
    path: string,
    options: {
      depth: number;
      includeHidden: boolean;
      maxEntries: number;
      respectIgnore?: boolean;
      accept?: (entry: FileStat, within: string) => boolean;
    },
  ): Promise<{ path: string; entries: FileStat[]; total: number; truncated: boolean }>;
  /** Null when nothing is there. */
  stat(path: string): Promise<FileDetails | null>;
  write(
    path: string,
    bytes: Uint8Array,
    options: {
      mode: "overwrite" | "append" | "create";
      createDirectories: boolean;
      expectedSha256?: string;
    },
  ): Promise<Written>;
  /** As write, from a stream: counted and hashed while it arrives; nothing is left behind when it fails or exceeds. */
  receive(
    path: string,
    source: AsyncIterable<Uint8Array>,
    options: { maxBytes: number; overwrite: boolean; expectedSha256?: string },
  ): Promise<Written>;
  move(
    from: string,
    to: string,
    options: { overwrite: boolean },
  ): Promise<{ from: string; to: string; overwritten: boolean }>;
  copy(
    from: string,
    to: string,
    options: { overwrite: boolean; recursive: boolean },
  ): Promise<{ from: string; to: string; files: number; bytes: number }>;
  makeFolder(
    path: string,
    options: { recursive: boolean },
  ): Promise<{ path: string; created: boolean }>;
  remove(
    path: string,
    options: { recursive: boolean; expectedSha256?: string },
  ): Promise<{ path: string; type: FileStat["type"]; files: number; bytes: number }>;
  /** Lines that match, over all files below a folder; linear in the size of the text whatever the pattern. */
  search(path: string, query: SearchQuery): Promise<SearchResult>;
  /**
   * Puts something a tool made (an image, a long output) into this execution's own folder; the path can be read
   * later.
   */
  keep(name: string, bytes: Uint8Array): Promise<string>;
}

export interface SearchQuery {
  pattern: string;
  literal: boolean;
  caseSensitive: boolean;
  wholeWord: boolean;
  multiline: boolean;
  globs: readonly string[];
  exclude: readonly string[];
  respectIgnore: boolean;
  includeHidden: boolean;
  contextBefore: number;
  contextAfter: number;
  maxResults: number;
  maxPerFile: number;
  maxFileBytes: number;
}

export interface SearchMatch {
  path: string;
  line: number;
  column: number;
  text: string;
  before: string[];
  after: string[];
}

export interface SearchResult {
  matches: SearchMatch[];
  /** Per file, in order of path; counts include what `matches` left out. */
  files: { path: string; count: number }[];
  filesSearched: number;
  filesSkipped: { binary: number; tooLarge: number; denied: number };
  truncated: boolean;
  /** Not all files were looked at: there are too many. */
  incomplete: boolean;
}
