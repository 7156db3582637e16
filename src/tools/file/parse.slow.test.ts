import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { docx, pdf, zip } from "../../../test/fixtures/documents.ts";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import type { JsonObject } from "../../contract/call.ts";
import parse from "./parse.ts";

const has = (program: string): boolean => {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};
const boxed = has("bwrap");

let bench: Bench;
beforeAll(async () => (bench = await openBench()));
afterAll(() => bench.close());

function put(name: string, content: string | Uint8Array): string {
  writeFileSync(join(bench.workspace, name), content);
  return name;
}
const read = (path: string, more: JsonObject = {}) => bench.run(parse, { path, ...more });
const fault = (path: string, more: JsonObject = {}) => bench.fault(parse, { path, ...more });

describe("what is asked", () => {
  test("path or attachment, one of them", async () => {
    for (const input of [{}, { path: "a", attachmentId: "b" }])
      expect(await bench.fault(parse, input)).toMatchObject({
        code: "BAD_REQUEST",
        reason: "invalid_arguments",
      });
    const found = await bench.fault(parse, { attachmentId: "att_1" });
    expect(found).toMatchObject({
      code: "NOT_FOUND",
      remedy: expect.stringContaining("workspace") as string,
    });
  });

  test("a file that is absent, a folder, one outside", async () => {
    mkdirSync(join(bench.workspace, "folder"), { recursive: true });
    expect(await fault("none.pdf")).toMatchObject({ reason: "path_not_found" });
    expect(await fault("folder")).toMatchObject({ reason: "not_a_file" });
    expect(await fault("/etc/passwd")).toMatchObject({ code: "FORBIDDEN" });
  });
});

describe.skipIf(!boxed)("inside the sandbox", { timeout: 120_000 }, () => {
  test("plain text, in parts that fit together", async () => {
    put("long.txt", "ab😀".repeat(10));
    const whole = await read("long.txt");
    expect(whole).toMatchObject({ mime: "text/plain", chars: 40, truncated: false });
    let text = "";
    for (let offset = 0; offset < 40;) {
      const part = await read("long.txt", { offset, maxChars: 15 });
      text += part["text"] as string;
      offset = Number(part["nextOffset"] ?? 40);
    }
    expect(text).toBe(whole["text"]);
    expect(bench.notes.at(-1)).toMatchObject({ untrusted: true, filesTouched: ["long.txt"] });
  });

  test("encodings: mark, declaration, neither", async () => {
    put("wide.txt", Buffer.from("\ufeffgrüße", "utf16le"));
    put("old.txt", Buffer.from("gr\xfc\xdfe", "latin1"));
    put(
      "old.html",
      Buffer.from(
        '<html><head><meta charset="iso-8859-2"><title>t</title></head><body><p>\xb3ad</p></body></html>',
        "latin1",
      ),
    );
    expect(await read("wide.txt")).toMatchObject({ text: "grüße" });
    expect(await read("old.txt")).toMatchObject({ text: "grüße" });
    expect(await read("old.html")).toMatchObject({ text: "ład", title: "t" });
  });

  test("a page: headings, links and tables, without scripts", async () => {
    put(
      "page.html",
      "<html lang=en><head><title>A page</title><script>alert(1)</script></head><body><h1>Top</h1><p>See <a href='https://example.com/x'>there</a>.</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>",
    );
    const page = await read("page.html");
    expect(page).toMatchObject({ mime: "text/html", title: "A page", language: "en" });
    expect(page["text"]).toMatch(/# Top/);
    expect(page["text"]).toContain("[there](https://example.com/x)");
    expect(page["text"]).toContain("| 1 | 2 |");
    expect(page["text"]).not.toContain("alert");
    expect((await read("page.html", { format: "text" }))["text"]).not.toMatch(/[#|[]/);
  });

  test("PDF: its pages, all or some, whatever the name says", async () => {
    put("two.bin", pdf(["First page here", "Second page here"]));
    const all = await read("two.bin");
    expect(all).toMatchObject({ mime: "application/pdf", pages: 2, title: "Two pages" });
    expect(all["text"]).toBe("First page here\n\nSecond page here");
    expect(await read("two.bin", { pages: "2" })).toMatchObject({
      text: "Second page here",
      pages: 2,
    });
    for (const pages of ["0", "3", "2-1", "x", "1;2"])
      expect(await fault("two.bin", { pages })).toMatchObject({
        code: "BAD_REQUEST",
        reason: "invalid_arguments",
        errors: [{ path: "/pages" }],
      });
  });

  test("PDF: protected, or broken", async () => {
    const secret = `/Encrypt << /Filter /Standard /V 1 /R 2 /O (${"o".repeat(32)}) /U (${"u".repeat(32)}) /P -44 >> /ID [(0123456789abcdef) (0123456789abcdef)]`;
    put("secret.pdf", pdf(["hidden"], secret));
    put("broken.pdf", "%PDF-1.7 and then nothing of the kind");
    expect(await fault("secret.pdf")).toMatchObject({
      code: "EXECUTION_FAILED",
      reason: "encrypted",
    });
    expect(await fault("broken.pdf")).toMatchObject({
      code: "EXECUTION_FAILED",
      reason: "document_unreadable",
    });
  });

  test("Word: headings, bold, tables, title", async () => {
    put("report.docx", docx());
    const report = await read("report.docx");
    expect(report).toMatchObject({ title: "Figures & facts" });
    expect(report["text"]).toMatch(/# Quarterly figures/);
    expect(report["text"]).toContain("Sales rose by **12 percent**");
    expect(report["text"]).toMatch(/North/);
  });

  test("Word: bombs, many parts, protected, broken", async () => {
    put("bomb.docx", docx([{ name: "word/media/x", content: Buffer.alloc(60_000_000) }]));
    put(
      "many.docx",
      docx(
        Array.from({ length: 2_100 }, (_, index) => ({
          name: `p${index}`,
          content: Buffer.alloc(1),
        })),
      ),
    );
    put("locked.docx", docx([{ name: "x", content: Buffer.from("x"), flags: 1 }]));
    put("cut.docx", docx().subarray(0, 400));
    for (const name of ["bomb.docx", "many.docx"])
      expect([name, await fault(name)]).toMatchObject([name, { reason: "archive_too_large" }]);
    expect(await fault("locked.docx")).toMatchObject({ reason: "encrypted" });
    expect(await fault("cut.docx")).toMatchObject({ reason: "document_unreadable" });
  });

  test("tables in text", async () => {
    put("a.csv", 'name;note\nAda;"one; two"\nBob;x|y\n');
    const table = await read("a.csv");
    expect(table).toMatchObject({ mime: "text/csv", sheets: ["a.csv"] });
    expect(table["text"]).toBe(
      "| name | note |\n| --- | --- |\n| Ada | one; two |\n| Bob | x\\|y |",
    );
    expect((await read("a.csv", { format: "text" }))["text"]).toContain("Ada\tone; two");
  });

  test("what cannot be read names its type", async () => {
    put("a.zip", zip([{ name: "x", content: Buffer.from("x") }]));
    put("a.xlsx", zip([{ name: "xl/workbook.xml", content: Buffer.from("x") }]));
    put("a.bin", Buffer.from([0, 1, 2, 3, 255]));
    put("a.png", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"));
    for (const [name, mime] of [
      ["a.zip", "application/zip"],
      ["a.xlsx", "spreadsheetml"],
      ["a.bin", "octet-stream"],
      ["a.png", "image/png"],
    ] as const) {
      const found = await fault(name);
      expect(found).toMatchObject({
        code: "EXECUTION_FAILED",
        reason: "unsupported_type",
        message: expect.stringContaining(mime) as string,
      });
    }
  });

  test.skipIf(has("tesseract"))("text in images without the program for it", async () => {
    put("b.png", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"));
    const found = await fault("b.png", { ocr: true });
    expect(found).toMatchObject({
      code: "UNAVAILABLE",
      reason: "provider_not_configured",
      remedy: expect.stringContaining("tesseract") as string,
    });
  });

  test("a page nested without end is an error, not a crash", async () => {
    put("deep.html", `<html><body>${"<div class=a>".repeat(200_000)}</body></html>`);
    const found = await fault("deep.html");
    expect(["document_unreadable", "resource_exhausted"]).toContain(found.reason);
    expect(JSON.stringify(found)).not.toContain(bench.root);
  });

  test("an abort ends it", async () => {
    put("some.txt", "text");
    const before = bench.progress.length;
    const controller = new AbortController();
    const running = bench.fault(parse, { path: "some.txt" }, { signal: controller.signal });
    // The file has been read by then, and its document not yet.
    await expect.poll(() => bench.progress.length, { interval: 5 }).toBeGreaterThan(before);
    controller.abort("user");
    expect(await running).toMatchObject({ code: "CANCELLED" });
  });
});
