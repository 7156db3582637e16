// The browser port: Chromium sessions, each in its own sandbox, owned by the caller who opened it.
import { z } from "zod";
import type { EgressRules } from "../egress/egress.ts";
import type { BrowserPower, BrowserSession } from "../../contract/powers/browser.ts";

export const browserConfig = z.strictObject({
  executable: z
    .string()
    .min(1)
    .optional()
    .describe("The Chromium to use. Default: the first one on PATH or in a usual place."),
  idleSeconds: z
    .int()
    .min(1)
    .max(86_400)
    .default(900)
    .describe("A browser session without a call ends after this many seconds."),
  maxSessionsPerCaller: z
    .int()
    .min(1)
    .max(100)
    .default(3)
    .describe("Browser sessions one caller may have open."),
  maxSessions: z
    .int()
    .min(1)
    .max(10_000)
    .default(20)
    .describe("Browser sessions this server may have open; each is a Chromium of its own."),
});
export type BrowserConfig = z.output<typeof browserConfig>;

/** Whose session it is. Another's is answered like one that never existed. */
export interface BrowserOwner {
  readonly tenantId: string;
  readonly userId: string;
}

/** One call's use of a session. */
export interface Use {
  readonly owner: BrowserOwner;
  /**
   * Of the tool that is called: top-level navigations obey them whole, everything else the block list and addresses.
   */
  readonly rules: EgressRules;
  readonly signal: AbortSignal;
  /** How long the call may take. */
  readonly timeoutMs: number;
  readonly now: number;
}

export type OpenOptions = Parameters<BrowserPower["open"]>[0];
export type OpenedPage = Awaited<ReturnType<BrowserPower["open"]>>;

/** Something the browser saved, read from its folder as a stream. */
export interface Download {
  readonly name: string;
  readonly bytes: number;
  readonly source: AsyncIterable<Uint8Array>;
}

export interface Browsers {
  open(use: Use, options: OpenOptions): Promise<OpenedPage>;
  /** The handle is good for this call only. */
  session(use: Use, sessionId: string): BrowserHandle;
  /** `receive` is given each download before its folder goes. False: it was closed already. */
  end(
    use: Use,
    sessionId: string,
    receive: (download: Download) => Promise<void>,
  ): Promise<boolean>;
  diagram: (
    source: string,
    options: Parameters<BrowserPower["diagram"]>[1],
    signal: AbortSignal,
  ) => ReturnType<BrowserPower["diagram"]>;
  close(): Promise<void>;
}

/** What the power adds to: it knows documents and models, the driver does not. */
export interface BrowserHandle extends Omit<BrowserSession, "extract"> {
  /** The page's own HTML for what becomes markdown. */
  extract(options: { type: ExtractType; selector?: string }): ReturnType<BrowserSession["extract"]>;
  /** What the page says about itself in a form that can be looked up by name. */
  facts(selector?: string): Promise<{ url: string; facts: PageFacts }>;
}

export type ExtractType = "text" | "html" | "attributes" | "links" | "images" | "table";

export interface PageFacts {
  readonly title: string;
  readonly url: string;
  /**
   * Name and value, best source first: itemprop, meta, definition lists, row headers, labelled fields, `Name: value`.
   */
  readonly pairs: readonly (readonly [name: string, value: string])[];
  readonly tables: readonly PageTable[];
  readonly lists: readonly { readonly name: string; readonly items: readonly string[] }[];
  /** JSON-LD blocks, as text. */
  readonly linkedData: readonly string[];
}

export interface PageTable {
  readonly caption: string;
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
}
