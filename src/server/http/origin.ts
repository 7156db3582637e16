// Which pages and cookies are our own: a browser sends the console's cookie along with what other pages ask, too.
import type { DoorSettings } from "../doors.ts";

type Settings = Pick<DoorSettings, "publicUrl" | "baseUrl">;

/** A page at the public address, or at the address the listener has itself. A proxy may send its own Host for the first. */
export function isOwnOrigin({ publicUrl }: Settings, origin: string, host = ""): boolean {
  if (publicUrl !== null && origin === publicUrl) return true;
  // Without encryption anybody on the way could be the public host.
  const isPublicHost = publicUrl !== null && nameOf(`http://${host}`) === nameOf(publicUrl);
  return !isPublicHost && origin === `http://${host}`;
}

const nameOf = (url: string): string | undefined => URL.parse(url)?.hostname;

export const isHttps = ({ baseUrl }: Settings): boolean => baseUrl.startsWith("https:");

/** Under https only the cookie with the prefix counts: any other could have been set by a neighbour of the domain. */
export function sessionCookie(settings: Settings, header: string | undefined): string | undefined {
  return isHttps(settings) && !header?.includes("__Host-ostiary_session=") ? undefined : header;
}
