// Diagrams, drawn by the bundled mermaid in a Chromium of their own that has no network at all.
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { AppError } from "../../contract/errors.ts";
import type { Browsers } from "./browser.ts";
import { startChromium, type ChromiumParts } from "./chromium.ts";
import { fault } from "./faults.ts";
import { drawDiagram } from "./draw.ts";
import { pause, abortable } from "./abortable.ts";

const AT_ONCE = 2;
const MAX_BYTES = 10_485_760;
const MAX_SIDE = 8_192;

export function createDiagrams(p: ChromiumParts, mermaidFile: () => string): Browsers["diagram"] {
  let running = 0;
  let script: string | null = null;
  return async (source, { format, theme }, signal) => {
    while (running >= AT_ONCE && !signal.aborted) await pause(50, signal);
    running++;
    try {
      script ??= await readFile(mermaidFile(), "utf8");
      const chromium = await startChromium(p, signal);
      try {
        const page = await abortable(
          chromium.browser.newPage({
            viewport: { width: 1_280, height: 800 },
            deviceScaleFactor: format === "png" ? 2 : 1,
          }),
          signal,
        );
        return await abortable(draw(page, script, source, format, theme), signal);
      } finally {
        await chromium.close();
      }
    } finally {
      running--;
    }
  };
}

async function draw(
  page: Page,
  script: string,
  source: string,
  format: "svg" | "png",
  theme: string,
) {
  await page.setContent(
    "<!doctype html><meta charset=utf-8><body style='margin:0;background:white'><div id=diagram style='display:inline-block'></div>",
  );
  await page.addScriptTag({ content: script });
  const drawn = await page.evaluate(drawDiagram, { source, theme });
  if ("error" in drawn) throw syntax(drawn.error, drawn.line);
  const width = Math.ceil(drawn.width);
  const height = Math.ceil(drawn.height);
  if (width > MAX_SIDE || height > MAX_SIDE || drawn.svg.length > MAX_BYTES)
    throw fault(
      "too_large",
      `the diagram is ${width} × ${height}, at most ${MAX_SIDE} × ${MAX_SIDE} and ${MAX_BYTES} bytes are drawn`,
      "split it into several",
    );
  if (format === "svg") return { svg: drawn.svg, width, height };
  await page.setViewportSize({ width: Math.max(1, width), height: Math.max(1, height) });
  const png = await page.locator("#diagram").screenshot({ type: "png" });
  if (png.length > MAX_BYTES)
    throw fault(
      "too_large",
      `the picture takes ${png.length} bytes, at most ${MAX_BYTES} are returned`,
      "ask for svg, or split the diagram",
    );
  return { png, width, height };
}

function syntax(message: string, line: number | null): AppError {
  const where = line === null ? "" : ` in line ${line}`;
  return new AppError(
    "EXECUTION_FAILED",
    "diagram_syntax",
    `the diagram cannot be read${where}: ${message.slice(0, 1_000)}`,
    {
      remedy:
        "correct the mermaid source there; the first line names the kind of diagram, e.g. flowchart TD",
      errors: [
        {
          path: "/source",
          message: line === null ? "not valid mermaid" : `line ${line} is not valid mermaid`,
        },
      ],
    },
  );
}
