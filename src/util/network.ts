/**
 * Who an address belongs to: an IPv4 address itself, of IPv6 the first 64 bits, since one host has all that follow.
 *
 *     networkOf("2001:db8::7") // "2001:db8:0:0"
 */
export function networkOf(ip: string): string {
  if (!ip.includes(":")) return ip;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = "", tail] = ip.toLowerCase().split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const left = groups(head);
  const right = groups(tail ?? "");
  const between = Math.max(0, tail === undefined ? 0 : 8 - left.length - right.length);
  return [...left, ...new Array<string>(between).fill("0"), ...right].slice(0, 4).join(":");
}
