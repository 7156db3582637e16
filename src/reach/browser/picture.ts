// Pictures of a page, and how large a picture is.
import type { Page } from "playwright-core";
import type { BrowserSession } from "../../contract/powers/browser.ts";
import { fault } from "./faults.ts";
import { pageHeight } from "./in-page.ts";
import { locateOne } from "./locate.ts";

const MAX_BYTES = 10_485_760;
/** Chromium draws nothing beyond this in one picture. */
const MAX_PIXELS = 16_384;

export async function screenshot(
  page: Page,
  options: Parameters<BrowserSession["screenshot"]>[0],
  signal: AbortSignal,
) {
  const { fullPage, selector, format, quality } = options;
  const shot = {
    type: format,
    ...(format === "jpeg" && { quality }),
    animations: "disabled",
    timeout: 0,
    signal,
  } as const;
  if (fullPage && selector === undefined) {
    const height = await page.evaluate(pageHeight);
    if (height > MAX_PIXELS) throw tooLarge(`the page is ${height} pixels high`);
  }
  const target = selector === undefined ? null : await locateOne(page, selector, signal);
  const bytes = target
    ? await target.screenshot(shot)
    : await page.screenshot({ ...shot, fullPage });
  if (bytes.length > MAX_BYTES)
    throw tooLarge(`the picture takes ${bytes.length} bytes, at most ${MAX_BYTES} are returned`);
  return { bytes, ...sizeOf(bytes), mime: `image/${format}` };
}

const tooLarge = (what: string) =>
  fault(
    "too_large",
    what,
    "take the visible part only, one element, or format jpeg with a lower quality",
  );

/** Width and height out of the header of a PNG or JPEG. */
export function sizeOf(picture: Uint8Array): { width: number; height: number } {
  const view = Buffer.from(picture.buffer, picture.byteOffset, picture.byteLength);
  if (view.readUInt32BE(0) === 0x89504e47)
    return { width: view.readUInt32BE(16), height: view.readUInt32BE(20) };
  // Segments of a JPEG, until the frame header.
  for (let at = 2; at + 9 < view.length; at += 2 + view.readUInt16BE(at + 2)) {
    const marker = view.readUInt8(at + 1);
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { height: view.readUInt16BE(at + 5), width: view.readUInt16BE(at + 7) };
  }
  return { width: 0, height: 0 };
}
