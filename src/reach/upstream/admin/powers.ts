// What the administration of upstream servers is given.
import type { JsonObject } from "../../../contract/call.ts";
import type { Follower } from "../../../storage/store/follow.ts";
import type { Action, Store } from "../../../storage/store/store.ts";
import type { OpenedCredentials } from "../credentials/credentials.ts";
import type { Review } from "../definitions/review.ts";
import type { Upstreams } from "../upstream.ts";
import type { ConfiguredServer } from "./configured.ts";
import type { ResolveProgram } from "./input.ts";
import type { ToolLinks } from "./tool-links.ts";

export interface ServerAdminPowers {
  readonly links: ToolLinks;
  readonly store: Pick<Store, "servers" | "serverTools" | "capsules">;
  readonly upstreams: Pick<
    Upstreams,
    "apply" | "health" | "logs" | "restart" | "definitions" | "onNotification"
  >;
  readonly credentials: Pick<OpenedCredentials, "put" | "remove" | "list" | "forget" | "of">;
  /** Servers of the settings. */
  readonly configured: ConfiguredServer;
  readonly review: Review;
  readonly follower: Pick<Follower, "on" | "changed">;
  readonly resolveProgram: ResolveProgram;
  /** Removes the files a server kept on this machine. */
  readonly removeFolders: (server: string) => Promise<void>;
  readonly now: () => number;
  readonly note: (
    action: Action,
    who: { tenantId: string; userId: string },
    body: JsonObject,
  ) => Promise<void>;
  readonly report: (fields: object, message: string) => void;
}

/** The name under which other instances follow changes of servers and credentials. */
export const SERVERS_SUBJECT = "servers";
