export interface Metrics {
  readonly contentType: string;
  /** The page of `/metrics`, classic text format. */
  text(): Promise<string>;
  discovered(count: number): void;
  mcpPath(path: "fast" | "sdk"): void;
}
