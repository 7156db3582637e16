// Tokens that say by their first letters who issued them, and private keys. No run of letters is looked at from more than a
// few places: the time is in proportion to the text.
import { whole, type Detector } from "./scan.ts";

/** Not in the middle of a longer word: `MY_` or a digit may stand before it, and so may what escapes leave behind. */
const START = String.raw`(?:(?<![A-Za-z])|(?<=\\[nrtbf]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}))`;
/** The same, and not behind a digit or `_` either: what follows may be long, and is to be looked at once. */
const ALONE = START.replace("[A-Za-z]", String.raw`[\w-]`);
const END = String.raw`(?![A-Za-z0-9_-])`;

/** How it begins, then the fixed word and enough of the token's own letters. */
const ISSUED: readonly (readonly [words: string, pattern: string])[] = [
  [
    "sk-",
    String.raw`sk-(?:ant-[a-z]+\d*-[\w-]{32,}|(?:proj|svcacct|admin|or-v1|None|lf)-[\w-]{20,}|[A-Za-z0-9]{32,})`,
  ],
  ["ghp gho ghu ghs ghr", "gh[pousr]_[A-Za-z0-9]{36,}"],
  ["github", String.raw`github_pat_\w{36,255}`],
  [
    "glpat gldt glrt glcbt glptt glft glimt glagent gloas glsoat glffct",
    String.raw`gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct|rtr)-[\w-]{20,}(?:\.[\w-]{2,12}){0,2}`,
  ],
  ["glsa glc", "gl(?:sa|c)_[A-Za-z0-9+/=_]{32,400}"],
  ["xox", String.raw`xox(?:[abceoprs](?:-\d+)*-[\w-]{8,}|e\.xox[bp]-\d-[A-Za-z0-9]{100,})`],
  ["xapp", String.raw`xapp-\d-[A-Z0-9]+-\d+-[A-Za-z0-9]{16,}`],
  ["npm", "npm_[A-Za-z0-9]{36,}"],
  ["pypi", String.raw`pypi-AgE[\w-]{50,}`],
  ["rubygems", "rubygems_[0-9a-f]{48}"],
  ["oy2", "oy2[a-z0-9]{43}"],
  ["clojars", "CLOJARS_[a-z0-9]{60}"],
  ["sg.", String.raw`SG\.[\w-]{16,}\.[\w-]{16,}`],
  ["key-", String.raw`(?<![\w-])key-[0-9a-f]{32}`],
  ["shp", "shp(?:at|ca|pa|ss)_[A-Za-z0-9]{32,}"],
  ["sk_ rk_", "(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,}"],
  ["whsec", "whsec_[A-Za-z0-9+/=]{24,}"],
  ["sq0", String.raw`sq0(?:atp|csp|idp)-[\w-]{22,}`],
  ["aiza", String.raw`AIza[\w-]{35}`],
  ["gocspx", String.raw`GOCSPX-[\w-]{28}`],
  ["ya29", String.raw`ya29\.[\w-]{30,}`],
  ["dapi dkea dose", String.raw`(?:dapi|dkea|dose)[0-9a-fA-F]{32}(?:-\d)?`],
  ["dckr", String.raw`dckr_(?:pat|oat)_[\w-]{20,}`],
  ["figd", String.raw`fig[dor]_[\w-]{20,}`],
  ["gsk", "gsk_[A-Za-z0-9]{40,}"],
  ["pplx xai", "(?:pplx|xai)-[A-Za-z0-9]{40,}"],
  ["tvly", String.raw`tvly-[\w-]{20,}`],
  ["r8_", "r8_[A-Za-z0-9]{37,}"],
  ["lsv2", "lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"],
  ["hvs hvb hvr", String.raw`hv[sbr]\.[\w-]{24,}`],
  ["hf_", "hf_[A-Za-z0-9]{30,}"],
  ["api_", "api_org_[A-Za-z]{34}"],
  ["lin_", "lin_(?:api|oauth)_[A-Za-z0-9]{32,}"],
  ["ntn", String.raw`ntn_\d{8,}[A-Za-z0-9]{30,}`],
  ["secret", "secret_[A-Za-z0-9]{43}"],
  ["ops", String.raw`ops_eyJ[\w-]{50,}={0,2}`],
  ["tskey", "tskey-[a-z]+-[A-Za-z0-9]{8,}(?:-[A-Za-z0-9]{8,})?"],
  [lettersAfter("vc"), "vc[a-z]_[A-Za-z0-9]{24,}"],
  [lettersAfter("cf"), "cf[a-z]{1,2}_[A-Za-z0-9]{40,}"],
  ["cfpat", String.raw`CFPAT-[\w-]{43}`],
  ["doo dop dor", "do[opr]_v1_[0-9a-f]{64}"],
  ["nfp", "nfp_[A-Za-z0-9]{36,}"],
  ["hrku", String.raw`HRKU-[\w-]{36,}`],
  ["rnd", "rnd_[A-Za-z0-9]{28,}"],
  ["re_", "re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"],
  ["pat", String.raw`pat(?:-(?:na|eu)\d-[0-9a-f-]{36}|[A-Za-z0-9]{14}\.[0-9a-f]{64})`],
  ["pscale", String.raw`pscale_(?:tkn|pw|oauth)_[\w.-]{32,}`],
  ["pmak", "PMAK-[0-9a-f]{24}-[0-9a-f]{34}"],
  ["pul", "pul-[0-9a-f]{40}"],
  ["dp.", String.raw`dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}`],
  ["nrak nrii nrjs", "NR(?:AK|II|JS)-[A-Za-z0-9]{19,}"],
  ["dt0", String.raw`dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}`],
  ["sntry", "sntry[su]_[A-Za-z0-9+/=_-]{50,}"],
  ["sbp sb_", String.raw`sb(?:p_[0-9a-f]{40}|_secret_[\w-]{20,})`],
  ["sgp", String.raw`sgp_\w{40,255}`],
  ["mdb", String.raw`mdb_sa_sk_[\w-]{32,}`],
  ["atatt atctt", String.raw`AT[AC]TT3[\w=-]{50,}`],
  ["atbb", "ATBB[A-Za-z0-9]{24,64}"],
  ["ltai", "LTAI[A-Za-z0-9]{12,24}"],
  ["akid", "AKID[A-Za-z0-9]{32}"],
  ["aqvn", String.raw`AQVN[\w-]{35,}`],
  ["sha", String.raw`sha256~[\w-]{43}`],
  ["access", "access-(?:sandbox|development|production)-[0-9a-f-]{36}"],
  ["age", "AGE-SECRET-KEY-1[0-9A-Z]{58}"],
  ["nsec", "nsec1[a-z0-9]{58}"],
  ["xpr ypr zpr tpr", "[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,112}"],
  ["ost", "ost_[a-z0-9]{1,16}_[0-9A-Za-z]{49}"],
  [
    "a3t akia asia abia acca agpa aida aroa aipa anpa anva",
    "(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z0-9]{16}",
  ],
  // A private key in base64: the five ways its first line can be spelt.
  [
    "ls0",
    "LS0tLS1CRUdJTi(?:BSU0EgUFJJVkFURS|BQUklWQVRF|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBVEUg|BFTkNSWVBURUQgUFJJVkFURS)[A-Za-z0-9+/=]{20,8000}",
  ],
];

/** To its end, or as far as it looks like one: cut off or with a wrong end it is a key all the same. */
const PRIVATE_KEY = String.raw`-----BEGIN[A-Z0-9 %+]{0,60}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?-----(?:(?!-----END)(?:\\{1,4}[nrt]|[A-Za-z0-9+/=\s:,.%-])){16,20000}(?:-----END[A-Z0-9 %+]{0,60}-----)?`;

export const TOKENS: readonly Detector[] = [
  ...ISSUED.map(([words, pattern]) => whole(words, `${START}(?:${pattern})${END}`)),
  whole(
    "eyj",
    String.raw`${ALONE}eyJ[\w-]{10,2000}\.(?:eyJ[\w-]{10,}\.[\w-]*|[\w-]{0,2000}\.[\w-]{8,200}\.[\w-]{8,}\.[\w-]{8,})${END}`,
  ),
  whole("begin", PRIVATE_KEY, 5),
  whole("private", String.raw`(?<=Private-Lines: \d{1,3}\s{1,4})[A-Za-z0-9+/=\s]{16,20000}`),
  // These begin with letters of their own.
  whole("atlasv1", String.raw`[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}${END}`, 15),
  whole("7q~ 8q~", String.raw`[\w~.-]{3}[78]Q~[\w~.-]{31,34}${END}`, 3),
  whole(":aa", String.raw`(?<=\d{8,10}):AA[\w-]{33}${END}`),
  // Addresses that are themselves the right to post there.
  whole(
    "hooks",
    String.raw`https:\/\/hooks\.slack\.com\/(?:services|workflows|triggers)\/[\w/]{16,200}`,
    8,
  ),
  whole("discord", String.raw`discord(?:app)?\.com\/api\/webhooks\/\d{1,20}\/[\w-]{16,200}`),
  whole("webhook", String.raw`webhook\.office\.com\/webhookb2\/[\w@/-]{16,400}`),
];

function lettersAfter(word: string): string {
  return Array.from("abcdefghijklmnopqrstuvwxyz", (letter) => word + letter).join(" ");
}
