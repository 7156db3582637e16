// What a start may be given besides the settings.
import type { AgentModel } from "../agents/agents.ts";
import type { LoadedConfig } from "../config/config.ts";
import type { Machine } from "../core/run/powers/host/machine.ts";
import type { EgressOptions } from "../reach/egress/guard.ts";
import type { Store } from "../storage/store/store.ts";
import type { Tool } from "../contract/tool.ts";

export interface AppOptions {
  /** Further native tools, for tests. */
  readonly tools?: readonly Tool[];
  readonly now?: () => number;
  /** Wraps the store that was opened: how tests break it. */
  readonly wrapStore?: (store: Store) => Store;
  /** How names are resolved and which certificates are trusted besides, for tests. */
  readonly egress?: EgressOptions;
  /** What agents ask instead of the configured model, for tests. */
  readonly model?: AgentModel;
  /** Programs, kernel files and logs of another machine than this one, for tests. */
  readonly machine?: Machine;
  /** Where each setting came from; absent: from the program that started the app. */
  readonly origins?: LoadedConfig["origins"];
  /** The file the configuration came from: no tool may touch it. */
  readonly configFile?: string | null;
  /** Files that settings were read from by reference (`${file:…}`): the same. */
  readonly secretFiles?: readonly string[];
}
