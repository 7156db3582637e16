// Tokens that say by their first letters who issued them, and private keys. No run of letters is looked at from more
// than a few places: what can fail is short, and a run of any length stands only at the end, where nothing can fail
// any more.
import { see, seenTo, matchAt, whole, type Detector } from "./scan.ts";

/** Not in the middle of a longer word: `MY_` or a digit may stand before it, and so may what escapes leave behind. */
const START = String.raw`(?:(?<![A-Za-z])|(?<=\\[nrtbf]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}))`;
/** The same, and not behind a digit or `_` either: what follows may be long, and is to be looked at once. */
const ALONE = START.replace("[A-Za-z]", String.raw`[\w-]`);
/** The same, and not behind a part of a longer word either. */
const APART = START.replace("[A-Za-z]", String.raw`[\w.-]`);
const END = String.raw`(?![A-Za-z0-9_-])`;

/** To the end of the word: its issuer may make it longer, and add parts to it. */
const MORE = String.raw`[\w-]*`;
/** The same with parts behind dots. A full stop at the end belongs to the sentence. */
const PARTS = String.raw`(?:[\w-]|\.(?=[\w-]))*`;
/** The same with the signs of base64. */
const BASE64 = String.raw`[\w+/=-]*`;

/** How it begins, then the fixed word and enough of the token's own letters to know it, and what else belongs to it. */
const ISSUED: readonly (readonly [words: string, pattern: string])[] = [
  [
    "sk-",
    String.raw`sk-(?:ant-[a-z]{1,12}\d{0,4}-[\w-]{24}|(?:proj|svcacct|service|admin|or-v1|None|lf)-[\w-]{20}|[A-Za-z0-9]{32})${MORE}`,
  ],
  [
    "ghp gho ghu ghs ghr",
    String.raw`gh[pousr]_(?:[A-Za-z0-9]{36}|(?=[A-Za-z_.-]{0,40}\d)[\w.-]{20})${PARTS}`,
  ],
  ["github", String.raw`github_pat_(?=[A-Za-z_.-]{0,40}\d)[\w.-]{20}${PARTS}`],
  ["v1.", String.raw`${APART}v1\.[0-9a-f]{40}${END}`],
  [
    "glpat gldt glrt glcbt glptt glft glimt glagent gloas glsoat glffct glwt",
    String.raw`gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct|rtr|wt)-[\w-]{20}${PARTS}`,
  ],
  ["gr1348941", String.raw`GR1348941[\w-]{20}${MORE}`],
  ["_gitlab_session", String.raw`_gitlab_session=[0-9a-z]{32}${MORE}`],
  ["glsa glc", String.raw`gl(?:sa|c)_[\w+/=]{32}${BASE64}`],
  [
    "xox",
    String.raw`xox(?:[a-z](?:-\d{1,20}){0,4}-[\w-]{8}${MORE}|e\.xox[bp]-\d-[A-Za-z0-9]{40}${MORE})`,
  ],
  [
    "xapp xwfp",
    String.raw`(?:xapp-\d-[A-Z0-9]{1,20}-\d{1,20}-[A-Za-z0-9]{16}|xwfp-[\w-]{20})${MORE}`,
  ],
  ["npm", String.raw`npm_[A-Za-z0-9]{30}${MORE}`],
  ["pypi", String.raw`pypi-AgE[\w-]{50}${MORE}`],
  ["rubygems", String.raw`rubygems_[0-9a-f]{48}${MORE}`],
  ["oy2", `oy2[a-z0-9]{43}${END}`],
  ["clojars", String.raw`CLOJARS_[a-z0-9]{60}${MORE}`],
  ["cio", String.raw`cio[A-Za-z0-9]{32}${END}`],
  ["sg.", String.raw`SG\.[\w-]{16,64}\.[\w-]{16}${MORE}`],
  ["key-", String.raw`${APART}key-[0-9a-f]{32}${END}`],
  ["shp", String.raw`shp[a-z]{2,4}_[A-Za-z0-9]{32}${MORE}`],
  ["sk_ rk_", String.raw`(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16}${MORE}`],
  ["sk_", String.raw`sk_[0-9a-f]{48}${MORE}`],
  [hexAfter("sk"), String.raw`SK[0-9a-f]{32}${END}`],
  ["whsec", String.raw`whsec_[A-Za-z0-9+/=]{24}${BASE64}`],
  ["sq0", String.raw`sq0(?:atp|csp|idp)-[\w-]{22}${MORE}`],
  ["eaaa", String.raw`EAAA[A-Za-z][\w-]{55}${MORE}`],
  ["eaa", String.raw`EAA[A-Z][A-Za-z0-9]{80}${MORE}`],
  ["aiza", String.raw`AIza[\w-]{35}${END}`],
  ["aq.", String.raw`AQ\.Ab[\w-]{40}${MORE}`],
  ["gocspx", String.raw`GOCSPX-[\w-]{24}${MORE}`],
  ["ya29", String.raw`ya29\.[\w-]{20}${PARTS}`],
  ["1//", String.raw`${APART}1\/\/0[\w-]{40}${MORE}`],
  ["4/0", String.raw`${APART}4\/0A[\w-]{40}${MORE}`],
  ["goog", String.raw`GOOG[\w]{20,58}${END}`],
  ["dapi dkea dose dsapi", String.raw`(?:dapi|dkea|dose|dsapi)[0-9a-fA-F]{32}(?:-\d)?${END}`],
  ["dckr", String.raw`dckr_(?:pat|oat|api)_[\w-]{20}${MORE}`],
  ["figd figo figr figu", String.raw`fig[a-z]_[\w-]{20}${MORE}`],
  ["gsk", String.raw`gsk_[A-Za-z0-9]{40}${MORE}`],
  ["pplx xai", String.raw`(?:pplx|xai)-[A-Za-z0-9]{40}${MORE}`],
  [
    "tvly fc- jina_ nvapi csk- fw_ tgp_ vck_",
    String.raw`(?:tvly-[\w-]{20}|fc-[0-9a-f]{32}|jina_[\w-]{40}|nvapi-[\w-]{40}|csk-[a-z0-9]{40}|fw_[A-Za-z0-9]{22}|tgp_v1_[\w-]{30}|vck_[A-Za-z0-9]{40})${MORE}`,
  ],
  ["r8_", String.raw`r8_[A-Za-z0-9]{36}${MORE}`],
  ["lsv2 ls__", String.raw`(?:lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|ls__[0-9a-f]{32})${MORE}`],
  ["pcsk", String.raw`pcsk_[\w-]{40}${MORE}`],
  ["hvs hvb hvr", String.raw`hv[sbr]\.[\w-]{24}${PARTS}`],
  ["hf_", String.raw`hf_[A-Za-z0-9]{30}${MORE}`],
  ["api_", String.raw`api_org_[A-Za-z]{34}${MORE}`],
  ["lin_", String.raw`lin_(?:api|oauth|wh)_[A-Za-z0-9]{32}${MORE}`],
  ["ntn", String.raw`ntn_[A-Za-z0-9]{40}${MORE}`],
  ["secret", String.raw`secret_[A-Za-z0-9]{43}${MORE}`],
  ["ops", String.raw`ops_eyJ[\w+/-]{50}${BASE64}`],
  ["a3-", String.raw`A3-[A-Z0-9]{6}-[A-Z0-9]{5,11}(?:-[A-Z0-9]{5,6}){3,4}${END}`],
  ["tskey", String.raw`tskey-[a-z]{1,20}-[A-Za-z0-9]{8}${MORE}`],
  [lettersAfter("vc"), String.raw`vc[a-z]_[A-Za-z0-9]{24}${MORE}`],
  ["vercel", String.raw`vercel_blob_rw_[A-Za-z0-9]{16}${MORE}`],
  [lettersAfter("cf"), String.raw`cf[a-z]{1,2}_[A-Za-z0-9]{40}${MORE}`],
  ["v1.0", String.raw`${APART}v1\.0-[0-9a-f]{24}-[0-9a-f]{100}${MORE}`],
  ["cfpat", String.raw`CFPAT-[\w-]{43}${MORE}`],
  ["doo dop dor", String.raw`do[opr]_v1_[0-9a-f]{64}${MORE}`],
  ["fo1 fm1 fm2", String.raw`(?:fo1_[\w-]{40}|fm(?:1[ar]|2)_[\w+/]{60})[\w+/=,-]*`],
  ["nfp nfc", String.raw`nf[pc]_[A-Za-z0-9]{36}${MORE}`],
  ["hrku", String.raw`HRKU-[\w-]{36}${MORE}`],
  ["rnd", String.raw`rnd_[A-Za-z0-9]{28}${MORE}`],
  ["re_", String.raw`re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20}${MORE}`],
  [
    "pat",
    String.raw`(?:pat-(?:na|eu|ap)\d-[0-9a-f-]{36}|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}|pat\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20})${END}`,
  ],
  ["sat.", String.raw`sat\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}${END}`],
  ["pscale", String.raw`pscale_(?:tkn|pw|oauth)_[\w.-]{32}${PARTS}`],
  ["pmak pmat", String.raw`PM(?:AK|AT)-[A-Za-z0-9-]{26}${MORE}`],
  ["pul", String.raw`pul-[0-9a-f]{40}${MORE}`],
  ["dp.", String.raw`dp\.(?:pt|st|ct|sa|scim|audit|said)\.[\w.-]{40}${PARTS}`],
  [
    "nrak nrii nrjs nral",
    String.raw`(?:NR(?:AK|II|JS|AL)-[A-Za-z0-9]{19}|[0-9a-f]{36}NRAL)${MORE}`,
  ],
  ["dt0", String.raw`dt0[a-z]\d\d\.[A-Z0-9]{8,32}\.[A-Z0-9]{64}${END}`],
  ["sntry", String.raw`sntry[su]_[\w+/=-]{50}${BASE64}`],
  ["sbp sb_", String.raw`sb(?:p_[\w]{32}|_secret_[\w-]{20})${MORE}`],
  ["sgp", String.raw`sgp_\w{40}${MORE}`],
  ["mdb", String.raw`mdb_sa_sk_[\w-]{32}${MORE}`],
  ["atatt atctt atst", String.raw`AT(?:[AC]TT3|STT3)[\w=-]{50}${BASE64}`],
  ["atbb", String.raw`ATBB[A-Za-z0-9]{24}${MORE}`],
  ["akcp cmvmd", String.raw`(?:AKCp[A-Za-z0-9]{60}|cmVmdGtuO[A-Za-z0-9]{50})${MORE}`],
  ["ltai", `LTAI[A-Za-z0-9]{12,24}${END}`],
  ["akid", `AKID[A-Za-z0-9]{32}${END}`],
  ["aqvn", String.raw`AQVN[\w-]{35}${MORE}`],
  ["t1.", String.raw`${APART}t1\.[A-Z0-9a-z_-]{7,2000}={0,2}\.[\w-]{86}={0,2}`],
  ["yca", String.raw`YCA[\w-]{37}${END}`],
  ["sha", String.raw`sha256~[\w-]{43}${MORE}`],
  ["access", `access-(?:sandbox|development|production)-[0-9a-f-]{36}${END}`],
  ["age", `AGE-SECRET-KEY-(?:1|PQ-1)[0-9A-Z]{58}${MORE}`],
  ["nsec", `nsec1[a-z0-9]{58}${END}`],
  ["xpr ypr zpr tpr", `[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,112}${END}`],
  ["ost", String.raw`ost_[a-z0-9]{1,16}_[0-9A-Za-z]{40}${MORE}`],
  [
    "a3t akia asia abia acca agpa aida aroa aipa anpa anva",
    `(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z0-9]{16}${END}`,
  ],
  ["absk", String.raw`ABSK[A-Za-z0-9+/]{100}${BASE64}`],
  ["bedrock", String.raw`bedrock-api-key-[\w+/-]{28}${BASE64}`],
  ["duffel", String.raw`duffel_(?:test|live)_[\w=-]{40}${MORE}`],
  ["ezak eztk", String.raw`EZ[AT]K[A-Za-z0-9]{54}${MORE}`],
  ["flwseck", String.raw`FLWSECK(?:_TEST)?-[a-z0-9]{12}${MORE}`],
  ["fio-", String.raw`fio-u-[\w=-]{60}${BASE64}`],
  ["shippo", String.raw`shippo_(?:live|test)_[0-9a-f]{40}${MORE}`],
  ["rdme", String.raw`rdme_[a-z0-9]{70}${MORE}`],
  ["pnu pnb", String.raw`pn[ub]_[A-Za-z0-9]{36}${MORE}`],
  ["tfp", String.raw`tfp_[\w.=-]{40}${PARTS}`],
  ["tk-us", String.raw`tk-us-[\w-]{48}${MORE}`],
  ["xkeysib xsmtpsib", String.raw`x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}${MORE}`],
  ["squ sqp sqa", String.raw`sq[upa]_[0-9a-f]{40}${MORE}`],
  ["p8e", String.raw`p8[es]-[A-Za-z0-9_-]{32}${MORE}`],
  ["sm_", String.raw`sm_[aps]at_[A-Za-z0-9]{16}${MORE}`],
  ["api-", `API-[A-Z0-9]{26}${END}`],
  ["sl.", String.raw`${APART}sl\.(?:u\.)?[\w-]{100}${MORE}`],
  ["phx phs", String.raw`ph[xs]_[A-Za-z0-9]{40}${MORE}`],
  ["apify", String.raw`apify_api_[A-Za-z0-9]{30}${MORE}`],
  ["bkua", String.raw`bkua_[0-9a-f]{40}${MORE}`],
  ["ccipat", String.raw`CCI(?:PAT|PRJ)_[\w]{20,40}_[0-9a-f]{40}${MORE}`],
  ["ddp ddapp", String.raw`(?:ddp|ddapp)_[A-Za-z0-9]{34}${MORE}`],
  ["pylf wandb", String.raw`(?:pylf_v\d_[a-z]{1,8}_[A-Za-z0-9]{40}|wandb_v\d_[\w]{40})${MORE}`],
  ["e2b", String.raw`e2b_[0-9a-f]{40}${MORE}`],
  ["u-s", String.raw`u-s4t2(?:ud|af)-[0-9a-f]{64}${END}`],
  ["sk.", String.raw`sk\.eyJ[\w-]{20,1000}\.[\w-]{20}${MORE}`],
  // A private key in base64: the five ways its first line can be spelt.
  [
    "ls0",
    String.raw`LS0tLS1CRUdJTi(?:BSU0EgUFJJVkFURS|BQUklWQVRF|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBVEUg|BFTkNSWVBURUQgUFJJVkFURS)[A-Za-z0-9+/=]{20}${BASE64}`,
  ],
];

/** To its end, or as far as it looks like one: cut off or with a wrong end it is a key all the same. */
const PRIVATE_KEY = String.raw`-----BEGIN[A-Z0-9 %+]{0,60}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?-----(?:(?!-----END)(?:\\{1,4}[nrt]|[A-Za-z0-9+/=\s:,.%-])){16,20000}(?:-----END[A-Z0-9 %+]{0,60}-----)?`;

const RUN_END = /[^\w-]/g;
const HEADER = new RegExp(String.raw`${START}eyJ[\w-]{10}`, "y");
/** Signed, or encrypted in five parts. A signature that was cut off is no reason to show the rest. */
const CLAIMS = new RegExp(
  String.raw`\.(?:eyJ[\w-]{10,}(?:\.[\w-]*)?|[\w-]*\.[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,})`,
  "y",
);

/** JSON Web Tokens. Of each run of letters the first beginning counts. */
const webToken: Detector = {
  words: ["eyj"],
  detect(text, at, found) {
    if (at < found.tokensTo || at < seenTo(found, webToken)) return;
    if (!matchAt(HEADER, text, at)) return;
    RUN_END.lastIndex = at;
    const end = RUN_END.test(text) ? RUN_END.lastIndex - 1 : text.length;
    see(found, webToken, end);
    const claims = matchAt(CLAIMS, text, end)?.[0];
    if (claims === undefined) return;
    found.tokensTo = end + claims.length;
    found.spans.push({ start: at, end: found.tokensTo });
  },
};

/** Tokens of Discord's bots begin with their number in base64. */
const NUMBERS = Array.from({ length: 90 }, (_, at) =>
  Buffer.from(`${at + 10}0`)
    .toString("base64")
    .slice(0, 3),
);

export const TOKENS: readonly Detector[] = [
  ...ISSUED.map(([words, pattern]) => whole(words, `${START}(?:${pattern})`)),
  webToken,
  whole("begin", PRIVATE_KEY, 5),
  whole(NUMBERS.join(" "), String.raw`${ALONE}[MNO][A-Za-z0-9]{22,27}\.[\w-]{6}\.[\w-]{27}${MORE}`),
  // These begin with letters of their own.
  whole("atlasv1", String.raw`[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60}${MORE}`, 15),
  whole(
    "0q~ 1q~ 2q~ 3q~ 4q~ 5q~ 6q~ 7q~ 8q~ 9q~",
    String.raw`[\w~.-]{3}\dQ~[\w~.-]{31,34}${END}`,
    3,
  ),
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

function hexAfter(word: string): string {
  return Array.from("0123456789abcdef", (digit) => word + digit).join(" ");
}
