// The dashboard, the alerts and the page about metrics, held against what a running server really tells.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { metricsPage } from "../../scripts/metrics-docs.ts";
import { ACTIONS } from "../../src/storage/store/store.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { familyName, parsePage, type ParsedFamily } from "../fixtures/prometheus.ts";
import { namesIn } from "../fixtures/promql.ts";

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { uid: string };
  readonly fieldConfig?: { defaults: { unit?: string } };
  readonly gridPos: { h: number; w: number; x: number; y: number };
  readonly targets?: readonly {
    expr: string;
    refId: string;
    legendFormat: string;
    datasource: { uid: string };
  }[];
}
interface Dashboard {
  readonly schemaVersion: number;
  readonly templating: {
    list: { name: string; type: string; query: string | { query: string } }[];
  };
  readonly annotations: { list: { expr: string }[] };
  readonly panels: readonly Panel[];
}
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { severity: string };
  readonly annotations: { summary: string; description: string };
}

const docs = (name: string): string =>
  readFileSync(join(import.meta.dirname, "../../docs", name), "utf8");
const dashboard = JSON.parse(docs("grafana/ostiary.json")) as Dashboard;
const panels = dashboard.panels.filter(({ type }) => type !== "row");
const rules = (
  parse(docs("grafana/alerts.yaml")) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);

/** Labels that Prometheus itself puts on every series. */
const OF_THE_SCRAPER = ["job", "instance"];

let app: StartedApp;
let page: ReadonlyMap<string, ParsedFamily>;
/** Label names by family, as the code has them. */
let labels: ReadonlyMap<string, readonly string[]>;
beforeAll(async () => {
  app = await startApp();
  await app.api("POST", "/executions", {
    body: { name: "system/echo", arguments: { text: "hi" } },
  });
  const answer = await fetch(`${app.url}/metrics`, {
    headers: { authorization: `Bearer ${app.adminKey}` },
  });
  page = parsePage(await answer.text());
  labels = new Map(
    app.doors.metrics.families.map((each) => [
      each.name,
      [...(each.labels ?? []), ...(each.type === "histogram" ? ["le"] : [])],
    ]),
  );
});
afterAll(() => app.close());

/** Null when each metric stands on the page and has the labels that are asked of it. */
function faultOf(expression: string): string | null {
  const { metrics, matchers, grouped } = namesIn(expression);
  const known = metrics.map((name) => ({
    name,
    family: page.get(name) ?? page.get(familyName(name)),
  }));
  for (const { name, family } of known) {
    if (family === undefined) return `${name} is not on the page`;
    if ((family.type === "histogram") !== (name !== family.name))
      return `${name} is no series of a ${family.type}`;
  }
  const has = (label: string, name: string): boolean =>
    OF_THE_SCRAPER.includes(label) ||
    (labels.get(page.has(name) ? name : familyName(name)) ?? []).includes(label);
  for (const { metric, label } of matchers)
    if (!has(label, metric)) return `${metric} has no label ${label}`;
  for (const label of grouped)
    if (!metrics.every((metric) => has(label, metric))) return `not all have ${label}`;
  for (const { metric, label, op, value } of matchers) {
    if (value.startsWith("$")) continue;
    const test = new RegExp(`^(?:${value})$`);
    const told: readonly string[] =
      label === "action"
        ? ACTIONS
        : (page.get(metric)?.samples ?? []).map((sample) => sample.labels[label] ?? "");
    // Every alternative of a pattern must be a value that can occur.
    const words = op.endsWith("~") ? alternatives(value) : [value];
    if (!told.some((each) => test.test(each)) || words.some((word) => !told.includes(word)))
      return `${label}="${value}" never occurs on ${metric}`;
  }
  return null;
}

/** `a.(b|c)` and `b|c` as words. */
function alternatives(pattern: string): string[] {
  const [, before = "", inside = pattern] = /^(.*)\((.*)\)$/.exec(pattern) ?? [];
  return inside.split("|").map((word) => before + word);
}

describe("the check itself", () => {
  test("refuses what is not on the page, and expressions that are none", () => {
    expect(faultOf("sum by (stage) (rate(ostiary_verdicts_total[5m]))")).toBeNull();
    expect(faultOf("rate(ostiary_invented_total[5m])")).toMatch(/not on the page/);
    expect(faultOf("sum(tool_execution_duration)")).toMatch(/no series of a histogram/);
    expect(faultOf('sum(ostiary_verdicts_total{colour="red"})')).toMatch(/no label colour/);
    expect(faultOf("sum by (tool_name) (ostiary_mode)")).toMatch(/not all have tool_name/);
    expect(faultOf('sum(ostiary_verdicts_total{stage="basement"})')).toMatch(/never occurs/);
    expect(faultOf('sum(tool_execution_total{status=~"failed|fallen"})')).toMatch(/never occurs/);
    for (const wrong of ["rat(a[5m])", "sum(rate(a[5m])", "rate(a[5])", "sum(a))", "a ~ b"])
      expect(() => namesIn(wrong), wrong).toThrow();
  });
});

describe("the dashboard", () => {
  test("R191: every expression names metrics and labels that a running server tells", () => {
    const queries = dashboard.templating.list.filter(({ type }) => type === "query");
    const asked = queries.map(({ query }) => (typeof query === "string" ? query : query.query));
    // label_values(selector, label)
    const selectors = asked.map((query) => query.replace(/^label_values\((.*), \w+\)$/, "$1"));
    const all = [
      ...selectors,
      ...dashboard.annotations.list.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }) => (targets ?? []).map(({ expr }) => expr)),
    ];
    expect(all.length).toBeGreaterThan(50);
    expect(all.map((expr) => [expr, faultOf(expr)]).filter(([, fault]) => fault !== null)).toEqual(
      [],
    );
  });

  test("every figure of our own is on it", () => {
    const shown = new Set(
      panels.flatMap(({ targets }) =>
        (targets ?? []).flatMap(({ expr }) =>
          namesIn(expr).metrics.map((name) => (page.has(name) ? name : familyName(name))),
        ),
      ),
    );
    const ours = [...page.keys()].filter((name) => /^(ostiary|tool)_/.test(name));
    expect(ours.filter((name) => !shown.has(name))).toEqual([]);
  });

  test("every panel has a title, a description, a unit and the data source of the variable", () => {
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(39);
    expect(dashboard.templating.list[0]).toMatchObject({
      name: "datasource",
      type: "datasource",
      query: "prometheus",
    });
    expect(panels.length).toBeGreaterThan(30);
    for (const panel of panels) {
      expect(panel.title.length, String(panel.id)).toBeGreaterThan(2);
      expect(panel.description?.endsWith("."), panel.title).toBe(true);
      expect(panel.fieldConfig?.defaults.unit, panel.title).toBeOneOf([
        "none",
        "short",
        "ops",
        "reqps",
        "s",
        "bytes",
        "percentunit",
      ]);
      expect(panel.targets?.length, panel.title).toBeGreaterThan(0);
      for (const { datasource } of [panel, ...(panel.targets ?? [])])
        expect(datasource?.uid, panel.title).toBe("${datasource}");
      const refs = panel.targets?.map(({ refId }) => refId);
      expect(new Set(refs).size, panel.title).toBe(refs?.length);
      // Seconds are shown as seconds, bytes as bytes.
      const measures = (panel.targets ?? []).every(
        ({ expr }) => /_seconds|_duration/.test(expr) && !/_total/.test(expr),
      );
      if (measures) expect(panel.fieldConfig?.defaults.unit, panel.title).toBe("s");
    }
  });

  test("nothing lies on anything else, and every row has a topic", () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const taken = new Map<string, string>();
    for (const { title, gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.get(`${x},${y}`), `${title} at ${x},${y}`).toBeUndefined();
          taken.set(`${x},${y}`, title);
        }
    }
    const rows = dashboard.panels.filter(({ type }) => type === "row").map(({ title }) => title);
    expect(rows).toEqual([
      "Now",
      "Traffic",
      "Errors",
      "Denials",
      "Latency",
      "Approvals",
      "Budgets and limits",
      "Record",
      "Sent on",
      "Upstream servers",
      "Mode",
      "Server",
    ]);
  });
});

describe("the alerts", () => {
  test("R191: every rule names metrics and labels that a running server tells", () => {
    expect(
      rules.map(({ alert, expr }) => [alert, faultOf(expr)]).filter(([, fault]) => fault !== null),
    ).toEqual([]);
  });

  test("R304: every rule says how bad it is, what happened and what to do, with labels it has", () => {
    const names = rules.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(
      expect.arrayContaining([
        "OstiaryRecordNotWritable",
        "OstiaryOutboxGrowing",
        "OstiaryExecutionsFail",
        "OstiaryEventLoopLag",
        "OstiaryModeNotNormal",
        "OstiaryApprovalsWaiting",
      ]),
    );
    for (const { alert, expr, for: lasting = "0m", labels: given, annotations } of rules) {
      expect(alert).toMatch(/^Ostiary[A-Za-z]+$/);
      expect(lasting).toMatch(/^\d+[mh]$/);
      expect(given.severity).toBeOneOf(["info", "warning", "critical"]);
      expect(annotations.description.length, alert).toBeGreaterThan(40);
      const { grouped } = namesIn(expr);
      for (const [, label] of `${annotations.summary} ${annotations.description}`.matchAll(
        /\$labels\.(\w+)/g,
      ))
        expect(grouped, alert).toContain(label);
    }
  });
});

test("R191: docs/metrics.md lists what the code has", async () => {
  const text = docs("metrics.md");
  expect(text).toBe(await metricsPage(text));
  for (const name of page.keys()) expect(text).toContain(`| \`${name}\` `);
});
