// Messages of a server that no request asked for: how many are delivered, and how to recognise one without parsing it.

/** At once, and more every second. */
export const UNSOLICITED_LIMIT = { burst: 1_000, perSecond: 200 } as const;

const HEAD_BYTES = 96;
const NOTICE = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:\s*"notifications\//;

/** Certainly a notification, by how it begins: it has a method, so it answers nothing, whatever else it holds. */
export const isNotification = (message: Buffer): boolean =>
  NOTICE.test(message.toString("latin1", 0, HEAD_BYTES));
