import type { Json, JsonObject } from "../call.ts";

/**
 * Browser sessions of the caller: another's is not found. Each has its own profile folder and its own sandbox; every
 * request passes the egress guard. Selectors: CSS, `text=…`, `role=…[name=…]`, or `ref=…` from observe.
 */
export interface BrowserPower {
  open(options: {
    url?: string;
    viewport: { width: number; height: number };
    locale: string;
    userAgent?: string;
  }): Promise<{
    sessionId: string;
    tabId: string;
    url?: string;
    title?: string;
    status?: number;
    expiresAt: number;
  }>;
  session(sessionId: string): Promise<BrowserSession>;
  /** Closing a closed one is a success. */
  close(
    sessionId: string,
  ): Promise<{ closed: boolean; downloads: { path: string; bytes: number }[] }>;
  /** A diagram drawn by a page of our own, without network and without a session. */
  diagram(
    source: string,
    options: { format: "svg" | "png"; theme: string },
  ): Promise<{ svg?: string; png?: Uint8Array; width: number; height: number }>;
}

export interface BrowserSession {
  navigate(
    target: { url: string } | { action: "back" | "forward" | "reload" },
    waitUntil: "load" | "domcontentloaded" | "networkidle",
  ): Promise<{
    url: string;
    title: string;
    status: number | null;
    redirected: boolean;
    elapsedMs: number;
  }>;
  click(
    selector: string,
    options: { button: "left" | "right" | "middle"; count: number },
  ): Promise<{ url: string; navigated: boolean; openedTabId?: string }>;
  type(
    selector: string,
    text: string,
    options: { clear: boolean; submit: boolean },
  ): Promise<{ url: string; navigated: boolean }>;
  select(
    selector: string,
    choice: { value: string } | { label: string } | { index: number },
  ): Promise<{ value: string; label: string }[]>;
  scroll(options: {
    direction: "up" | "down" | "top" | "bottom";
    amount?: number;
    selector?: string;
  }): Promise<{ x: number; y: number; atTop: boolean; atBottom: boolean }>;
  wait(options: {
    type: "navigation" | "selector" | "text" | "timeout";
    value?: string | number;
  }): Promise<{ met: boolean; elapsedMs: number }>;
  /**
   * With a schema the data fits it, found by the names of its fields (schema_not_satisfied); an instruction needs a
   * model.
   */
  extract(options: {
    type: "text" | "markdown" | "html" | "attributes" | "links" | "images" | "table";
    selector?: string;
    schema?: JsonObject;
    instruction?: string;
  }): Promise<{ url: string; data: Json }>;
  screenshot(options: {
    fullPage: boolean;
    selector?: string;
    format: "png" | "jpeg";
    quality: number;
  }): Promise<{ bytes: Uint8Array; width: number; height: number; mime: string }>;
  /** Elements that share words with the instruction come first. A `ref` works as a selector until the page changes. */
  observe(options: { maxElements: number; instruction?: string }): Promise<{
    url: string;
    title: string;
    elements: { ref: string; role: string; name: string; value?: string; enabled: boolean }[];
    truncated: boolean;
  }>;
  /** Hosts the browser has reached since the last time this was asked. */
  takeHosts(): string[];
  tabs(
    action:
      | { action: "list" }
      | { action: "open"; url?: string }
      | { action: "switch" | "close"; tabId: string },
  ): Promise<{ tabId: string; url: string; title: string; active: boolean }[]>;
}
