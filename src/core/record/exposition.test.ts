// The text format, read back by a strict parser.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parsePage } from "../../../test/fixtures/prometheus.ts";
import { counter, histogram, pageOf, readGauge, setGauge, type Family } from "./exposition.ts";

const read = async (...families: Family[]) => parsePage(await pageOf(families));

describe("the text format", () => {
  test("label values come back as they were, whatever is in them", async () => {
    const anything = fc.uniqueArray(fc.string({ unit: "binary", maxLength: 20 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(anything, async (values) => {
        const total = counter({
          name: "things_total",
          help: "Things\\with\nlines",
          labels: ["what"],
        });
        for (const value of values) total.of(value).value++;
        const { samples } = (await read(total)).get("things_total") ?? { samples: [] };
        expect(samples.map(({ labels }) => labels["what"])).toEqual(values);
      }),
    );
  });

  test("a histogram counts every value once, in the first bucket that holds it", async () => {
    const seconds = histogram({ name: "t_seconds", help: "T", labels: ["a"], bounds: [0.1, 1] });
    for (const value of [0, 0.1, 0.11, 1, 7]) seconds.of("x").observe(value);
    const lines = (await pageOf([seconds])).split("\n").slice(2, -1);
    expect(lines).toEqual([
      't_seconds_bucket{a="x",le="0.1"} 2',
      't_seconds_bucket{a="x",le="1"} 4',
      't_seconds_bucket{a="x",le="+Inf"} 5',
      't_seconds_sum{a="x"} 8.21',
      't_seconds_count{a="x"} 5',
    ]);
  });

  test("beyond its maximum a family has only `other`, and no count is lost", async () => {
    const one = counter({ name: "one_total", help: "One", labels: ["a"], max: 3 });
    const two = counter({ name: "two_total", help: "Two", labels: ["a", "b"], max: 3 });
    for (let i = 0; i < 10; i++) {
      one.of(`a${i}`).value++;
      two.of("same", `b${i}`).value++;
    }
    const page = await read(one, two);
    const of = (name: string) =>
      page.get(name)?.samples.map(({ labels, value }) => [...Object.values(labels), value]);
    expect(of("one_total")).toEqual([
      ["a0", 1],
      ["a1", 1],
      ["a2", 1],
      ["other", 7],
    ]);
    expect(of("two_total")).toEqual([
      ["same", "b0", 1],
      ["same", "b1", 1],
      ["same", "b2", 1],
      ["same", "other", 7],
    ]);
  });

  test("a reading that fails, says nothing or does not come is left out; the page comes", async () => {
    const about = (name: string) => ({ name, help: "Help" });
    const page = await read(
      readGauge(about("fails"), () => Promise.reject(new Error("out"))),
      readGauge(about("throws"), () => {
        throw new Error("out");
      }),
      readGauge(about("silent"), () => null),
      readGauge(about("hangs"), () => new Promise(() => undefined)),
      readGauge(about("yes"), () => true),
      setGauge(about("unset")),
      readGauge({ ...about("listed"), labels: ["x"], max: 1 }, () => [
        ["a", 2],
        ["b", 3],
      ]),
    );
    expect(
      [...page.values()].map(({ name, samples }) => [name, samples.map(({ value }) => value)]),
    ).toEqual([
      ["fails", []],
      ["throws", []],
      ["silent", []],
      ["hangs", []],
      ["yes", [1]],
      ["unset", []],
      ["listed", [2]],
    ]);
  });

  test("the parser itself refuses what is not of the format", () => {
    const head = "# HELP a A\n# TYPE a counter\n";
    for (const wrong of [
      `${head}a 1`,
      "a 1\n",
      `${head}b 1\n`,
      `${head}a{x=1} 1\n`,
      `${head}a -1\n`,
      `${head}a 1\na 2\n`,
      `${head}\n`,
      `${head}a one\n`,
      "# TYPE a counter\na 1\n",
      '# HELP a A\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
    ])
      expect(() => parsePage(wrong), wrong).toThrow();
    expect(parsePage(`${head}a{x="\\"\\\\\\n"} 1e+21\n`).get("a")?.samples[0]).toEqual({
      name: "a",
      labels: { x: '"\\\n' },
      value: 1e21,
    });
  });
});
