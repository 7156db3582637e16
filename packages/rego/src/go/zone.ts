// Time zones through Intl: offsets and abbreviations at an instant, and instants of wall clocks.

export interface Zone {
  readonly name: string;
  /** Seconds east of UTC at a Unix time in seconds. */
  offsetAt(unixSeconds: bigint): number;
  /** "CET", "-03" and the like. */
  abbreviationAt(unixSeconds: bigint): string;
}

export const UTC: Zone = {
  name: "UTC",
  offsetAt: () => 0,
  abbreviationAt: () => "UTC",
};

export function fixedZone(name: string, offsetSeconds: number): Zone {
  return { name, offsetAt: () => offsetSeconds, abbreviationAt: () => name };
}

/** What Intl can represent; earlier and later instants take the offset at the edge. */
const MIN_MS = -62_135_596_800_000;
const MAX_MS = 253_402_300_799_000;

function clampMs(unixSeconds: bigint): number {
  return Math.min(Math.max(Number(unixSeconds) * 1000, MIN_MS), MAX_MS);
}

/** undefined when there is no such zone. Names are case-sensitive, as file names are to Go. */
export function loadZone(name: string): Zone | undefined {
  if (name === "" || name === "UTC") return UTC;
  if (!/^[A-Za-z0-9_+\-/]+$/.test(name)) return undefined;
  let clock: Intl.DateTimeFormat;
  let labels: Intl.DateTimeFormat;
  try {
    clock = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    labels = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "short" });
  } catch {
    return undefined;
  }
  if (!sameSpelling(name)) return undefined;
  const offsetAt = (seconds: bigint): number => offsetOf(clock, clampMs(seconds));
  return {
    name,
    offsetAt,
    abbreviationAt: (seconds) => abbreviation(labels, name, clampMs(seconds), offsetAt(seconds)),
  };
}

/** Intl takes any case; an area name starts with a capital in the tz database. */
function sameSpelling(name: string): boolean {
  return name
    .split("/")
    .every((part) => /^[A-Z]/.test(part) || part === "posix" || part === "right");
}

function offsetOf(clock: Intl.DateTimeFormat, ms: number): number {
  const parts = new Map(clock.formatToParts(ms).map((part) => [part.type, part.value]));
  const field = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type) ?? 0);
  const year = parts.get("era") === "BC" ? 1 - field("year") : field("year");
  const date = new Date(0);
  date.setUTCFullYear(year, field("month") - 1, field("day"));
  date.setUTCHours(field("hour"), field("minute"), field("second"), 0);
  return (date.getTime() - Math.floor(ms / 1000) * 1000) / 1000;
}

/** Intl names only North American zones; these are the others the tz database names. */
const NAMED: readonly (readonly [RegExp, standard: string, summer: string])[] = [
  [
    /^(?:CET|Europe\/(?:Amsterdam|Andorra|Belgrade|Berlin|Bratislava|Brussels|Budapest|Busingen|Copenhagen|Gibraltar|Ljubljana|Luxembourg|Madrid|Malta|Monaco|Oslo|Paris|Podgorica|Prague|Rome|San_Marino|Sarajevo|Skopje|Stockholm|Tirane|Vaduz|Vatican|Vienna|Warsaw|Zagreb|Zurich)|Africa\/(?:Ceuta|Tunis|Algiers)|Arctic\/Longyearbyen)$/,
    "CET",
    "CEST",
  ],
  [
    /^(?:EET|Europe\/(?:Athens|Bucharest|Chisinau|Helsinki|Kiev|Kyiv|Mariehamn|Riga|Sofia|Tallinn|Uzhgorod|Vilnius|Zaporozhye|Nicosia)|Asia\/(?:Beirut|Nicosia|Famagusta)|Africa\/(?:Cairo|Tripoli))$/,
    "EET",
    "EEST",
  ],
  [/^(?:WET|Atlantic\/(?:Canary|Faroe|Madeira)|Europe\/Lisbon|Portugal)$/, "WET", "WEST"],
  [/^(?:Europe\/(?:London|Belfast|Guernsey|Isle_of_Man|Jersey)|GB|GB-Eire)$/, "GMT", "BST"],
  [/^(?:Etc\/)?(?:GMT|Greenwich)$/, "GMT", "GMT"],
  [/^(?:America\/St_Johns|Canada\/Newfoundland)$/, "NST", "NDT"],
  [/^(?:Europe\/Dublin|Eire)$/, "GMT", "IST"],
  [/^(?:Europe\/(?:Moscow|Simferopol|Kirov)|W-SU)$/, "MSK", "MSD"],
  [/^(?:Asia\/(?:Kolkata|Calcutta))$/, "IST", "IST"],
  [/^(?:Asia\/Tokyo|Japan)$/, "JST", "JDT"],
  [/^(?:Asia\/(?:Seoul|Pyongyang)|ROK)$/, "KST", "KDT"],
  [/^(?:Asia\/(?:Shanghai|Chongqing|Harbin|Macau|Taipei)|PRC|ROC)$/, "CST", "CDT"],
  [/^(?:Asia\/Hong_Kong|Hongkong)$/, "HKT", "HKST"],
  [/^Asia\/Manila$/, "PST", "PDT"],
  [/^Asia\/Karachi$/, "PKT", "PKST"],
  [/^(?:Asia\/(?:Jerusalem|Tel_Aviv)|Israel)$/, "IST", "IDT"],
  [/^Asia\/Jakarta$/, "WIB", "WIB"],
  [
    /^Australia\/(?:Sydney|Melbourne|Brisbane|Hobart|Canberra|ACT|NSW|Queensland|Tasmania|Victoria|Lindeman|Currie)$/,
    "AEST",
    "AEDT",
  ],
  [/^Australia\/(?:Adelaide|Darwin|Broken_Hill|North|South|Yancowinna)$/, "ACST", "ACDT"],
  [/^Australia\/(?:Perth|West)$/, "AWST", "AWDT"],
  [/^(?:Pacific\/Auckland|Antarctica\/(?:McMurdo|South_Pole)|NZ)$/, "NZST", "NZDT"],
  [/^Africa\/(?:Johannesburg|Maseru|Mbabane)$/, "SAST", "SAST"],
  [
    /^Africa\/(?:Nairobi|Addis_Ababa|Mogadishu|Kampala|Dar_es_Salaam|Djibouti|Asmara)$/,
    "EAT",
    "EAT",
  ],
  [
    /^Africa\/(?:Lagos|Kinshasa|Luanda|Douala|Libreville|Niamey|Bangui|Brazzaville|Malabo|Ndjamena|Porto-Novo)$/,
    "WAT",
    "WAT",
  ],
  [
    /^Africa\/(?:Maputo|Harare|Lusaka|Kigali|Lubumbashi|Gaborone|Blantyre|Bujumbura|Khartoum|Juba|Windhoek)$/,
    "CAT",
    "CAT",
  ],
];

function abbreviation(
  labels: Intl.DateTimeFormat,
  name: string,
  ms: number,
  offset: number,
): string {
  // Only local mean time has odd seconds.
  if (offset % 60 !== 0) return "LMT";
  const known = NAMED.find(([pattern]) => pattern.test(name));
  if (known !== undefined) return isSummer(labels, ms, offset) ? known[2] : known[1];
  const shown = labelAt(labels, ms);
  if (shown !== undefined) return shown;
  const abs = Math.abs(offset);
  const [hours, minutes] = [Math.floor(abs / 3600), Math.floor((abs % 3600) / 60)];
  const sign = offset < 0 ? "-" : "+";
  const two = (n: number): string => n.toString().padStart(2, "0");
  return minutes === 0 ? sign + two(hours) : sign + two(hours) + two(minutes);
}

function labelAt(labels: Intl.DateTimeFormat, ms: number): string | undefined {
  const shown = labels.formatToParts(ms).find((part) => part.type === "timeZoneName")?.value ?? "";
  return /^[A-Z]{2,5}$/.test(shown) ? shown : undefined;
}

/** Whether the offset is above the lowest one of that year. */
function isSummer(labels: Intl.DateTimeFormat, ms: number, offset: number): boolean {
  const year = new Date(ms).getUTCFullYear();
  const { timeZone } = labels.resolvedOptions();
  const zone = loadZone(timeZone);
  if (zone === undefined) return false;
  const at = (month: number): number =>
    zone.offsetAt(BigInt(Math.floor(Date.UTC(year, month, 1) / 1000)));
  return offset > Math.min(at(0), at(6));
}
