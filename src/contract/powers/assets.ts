/** Files for the caller beyond the workspace: they have a link, and people see them in chats and in the console. */
export interface AssetsPower {
  /** Refuses when the caller has no room left: ask before something is paid for. */
  requireRoom(): Promise<void>;
  keep(file: {
    readonly name: string;
    readonly mime: string;
    readonly bytes: Uint8Array;
  }): Promise<{ assetId: string; url: string }>;
  /** Only the caller's own; a larger one than `maxBytes` is refused with size_exceeded. */
  read(
    assetId: string,
    options: { maxBytes: number },
  ): Promise<{ name: string; mime: string; bytes: Uint8Array }>;
}
