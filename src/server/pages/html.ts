// The few pages we write ourselves: text always escaped, no script, no outside origin.
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlPart = string | number | Html | readonly Html[];

/** Template tag: whatever is put in is escaped, unless it is Html already. */
export function html(strings: TemplateStringsArray, ...parts: HtmlPart[]): Html {
  let text = strings[0] ?? "";
  parts.forEach((part, index) => (text += textOf(part) + (strings[index + 1] ?? "")));
  return new Html(text);
}

function textOf(part: HtmlPart): string {
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map((item) => item.text).join("");
  return escape(String(part));
}

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (c) => ENTITIES[c] ?? c);
}

const STYLE = `
:root {
  color-scheme: light dark;
  --page: light-dark(#f7f7f5, #101312); --surface: light-dark(#fff, #171b1a);
  --line: light-dark(#e2e2dd, #2c3432); --edge: light-dark(#85857d, #75807c);
  --text: light-dark(#1b1c1a, #e8ecea); --muted: light-dark(#5c5e59, #a3ada9);
  --accent: light-dark(#0b6254, #55c9b1); --on-accent: light-dark(#fff, #06231d);
  font: 15px/1.5 system-ui, sans-serif; background: var(--page); color: var(--text);
}
*, ::before, ::after { box-sizing: border-box; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
body:has(form) { max-width: 30rem; margin-top: 10vh; }
body:has(form) main { padding: 1.5rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--surface); }
a { color: var(--accent); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.15rem; margin: 1.25rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { overflow-wrap: normal; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; white-space: pre-wrap; }
pre { padding: .6rem; border: 1px solid var(--line); border-radius: .3rem; }
input, button { font: inherit; max-width: 100%; padding: .4rem .6rem; border-radius: .4rem; }
input[type="password"] { width: 100%; border: 1px solid var(--edge); background: var(--page); color: inherit; }
button { min-height: 2.5rem; padding: .4rem 1.2rem; border: 0; background: var(--accent); color: var(--on-accent); font-weight: 600; cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.note { color: var(--muted); font-size: .9em; }
:target { background: #fd06; }
.whole { white-space: nowrap; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; }
  h1 { font-size: 1.35rem; }
  h2 { font-size: 1.15rem; }
  table, tbody, tr, th, td { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  th, td { border: 0; padding: .1rem 0; }
  td:empty { display: none; }
  td[data-label]::before { content: attr(data-label) ": "; opacity: .75; }
}
`;

/** Where `/style.css` is served from our own origin, so that the policy needs no inline style. */
export const stylesheet = STYLE.trim();

const BASE_POLICY =
  "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

export const PAGE_POLICY = `${BASE_POLICY}; style-src 'self'; img-src 'self' data:`;

/** The console: scripts, styles and requests of our own origin alone. Text never becomes markup (Trusted Types). */
export const CONSOLE_POLICY = `${BASE_POLICY}; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; media-src 'self' blob:; manifest-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'`;

/** Scalar adds style elements as it runs and draws icons from data URLs; scripts come from us alone. */
export const DOCS_POLICY = `${BASE_POLICY}; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:`;

export function pageHeaders(policy: string = PAGE_POLICY): Record<string, string> {
  return {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": policy,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    // Not no-referrer: browsers would then send `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
  };
}

export const layout = (title: string, body: Html): string =>
  document(title, html`<link rel="stylesheet" href="/style.css" />`, body);

export const NOTHING = new Html("");

export interface TableRow {
  /** For links to this row. */
  readonly id?: string;
  readonly cells: readonly HtmlPart[];
}

/** On a narrow screen every cell has a line of its own, with the head of its column before it. */
export function table(heads: readonly string[], rows: readonly TableRow[]): Html {
  const head = heads.map((text) => html`<th scope="col" role="columnheader">${text}</th>`);
  const body = rows.map(({ id, cells }) => {
    const shown = cells.map(
      (cell, at) => html`<td role="cell" data-label="${heads[at] ?? ""}">${cell}</td>`,
    );
    return html`<tr role="row" ${id === undefined ? NOTHING : html` id="${id}"`}>
      ${shown}
    </tr>`;
  });
  return html`<table role="table">
    <thead role="rowgroup">
      <tr role="row">
        ${head}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${body}
    </tbody>
  </table>`;
}

/** A page without our style. */
export function document(title: string, head: Html, body: Html): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        ${head}
      </head>
      <body>
        <main>${body}</main>
      </body>
    </html> `.text;
}
