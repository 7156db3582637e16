// Which pages and cookies are our own: a browser sends the console's cookie with requests of other pages too.
import type { DoorSettings } from "../doors.ts";

type Settings = Pick<DoorSettings, "publicUrl" | "baseUrl">;

/** A page at the public address (where a proxy may send its own Host), or at the listener's own address. */
export function isOwnOrigin({ publicUrl }: Settings, origin: string, host = ""): boolean {
  if (publicUrl !== null && origin === publicUrl) return true;
  // Over plain http anyone on the network path could pose as the public host.
  const isPublicHost = publicUrl !== null && nameOf(`http://${host}`) === nameOf(publicUrl);
  return !isPublicHost && origin === `http://${host}`;
}

const nameOf = (url: string): string | undefined => URL.parse(url)?.hostname;

export const isHttps = ({ baseUrl }: Settings): boolean => baseUrl.startsWith("https:");

/** Under https only the `__Host-` cookie counts: a sibling domain could have set any other. */
export function sessionCookie(settings: Settings, header: string | undefined): string | undefined {
  return isHttps(settings) && !header?.includes("__Host-ostiary_session=") ? undefined : header;
}
