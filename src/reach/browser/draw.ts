// Runs inside the page that draws diagrams; uses nothing from outside itself.

interface Box {
  readonly width: number;
  readonly height: number;
}
declare const document: {
  getElementById(id: string): {
    innerHTML: string;
    querySelector(selector: string): {
      style: { maxWidth: string };
      getBoundingClientRect(): Box;
      viewBox?: { baseVal?: Box };
      setAttribute(name: string, value: string): void;
    } | null;
  } | null;
};
declare const mermaid: {
  initialize(settings: object): void;
  parse(source: string): Promise<unknown>;
  render(id: string, source: string): Promise<{ svg: string }>;
};

type Drawn =
  { svg: string; width: number; height: number } | { error: string; line: number | null };

export async function drawDiagram({
  source,
  theme,
}: {
  source: string;
  theme: string;
}): Promise<Drawn> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    theme,
    suppressErrorRendering: true,
    htmlLabels: false,
    flowchart: { htmlLabels: false },
  });
  try {
    await mermaid.parse(source);
    const { svg } = await mermaid.render("drawn", source);
    const place = document.getElementById("diagram");
    if (!place) return { error: "nothing to draw on", line: null };
    place.innerHTML = svg;
    const drawn = place.querySelector("svg");
    const size = drawn?.viewBox?.baseVal;
    const box = size && size.width > 0 ? size : drawn?.getBoundingClientRect();
    if (drawn && box) {
      drawn.style.maxWidth = "none";
      drawn.setAttribute("width", String(box.width));
      drawn.setAttribute("height", String(box.height));
    }
    return { svg, width: box?.width ?? 0, height: box?.height ?? 0 };
  } catch (cause) {
    const { message, str, hash } = cause as {
      message?: string;
      str?: string;
      hash?: { loc?: { first_line?: number }; line?: number };
    };
    const text = String(message ?? str ?? cause);
    const lineText = /line:? (\d+)/i.exec(text)?.[1];
    const line = lineText !== undefined ? Number(lineText) : (hash?.loc?.first_line ?? null);
    return { error: text, line };
  }
}
