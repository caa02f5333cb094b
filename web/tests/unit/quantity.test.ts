import { expect, test } from "vitest";
import { difference } from "../../src/controls/codemirror";
import { BYTES, kindOf, nearest, PACKETS, parse, RATE, SHARE, scale, TIME, write } from "../../src/controls/quantity";
import { read, toml } from "../../src/controls/toml";

test("quantities are written with the unit that fits", () => {
  expect([1e7, 1.5e6, 999, 0, 2.5e9].map((rate) => write(rate, RATE))).toEqual([
    "10 Mb/s",
    "1.5 Mb/s",
    "999 b/s",
    "0 b/s",
    "2.5 Gb/s",
  ]);
  expect([0.02, 60, 1e-4, 0, 0.0025].map((time) => write(time, TIME))).toEqual([
    "20 ms",
    "60 s",
    "100 us",
    "0 s",
    "2.5 ms",
  ]);
  expect([0.005, 0, 0.00001].map((share) => write(share, SHARE))).toEqual(["0.5 %", "0 %", "0.001 %"]);
});

test("quantities are read with any unit that scenario files have", () => {
  expect(parse("10 Mbit/s", RATE)).toBe(1e7);
  expect(parse("2 min", TIME)).toBe(120);
  expect(parse("32 MiB", BYTES)).toBe(33_554_432);
  expect(parse("0.01", SHARE)).toBe(0.01);
  expect(parse("1 %", SHARE)).toBe(0.01);
});

test("a bare number has the unit of the value before it", () => {
  expect(parse("5", RATE, "10 Mb/s")).toBe(5e6);
  expect(parse("1,5", RATE, "10 Mb/s")).toBe(1.5e6);
  expect(parse("0,125 s", TIME)).toBe(0.125);
  expect(parse("1,500 kb/s", RATE)).toBeNull();
  expect(parse("1,500,000 B", BYTES)).toBeNull();
});

test("what is no quantity of the kind is refused", () => {
  for (const text of ["", "ten Mb/s", "-1 Mb/s", "10 MB/s", "10 ms", "1e3 Mb/s"])
    expect(parse(text, RATE), text).toBeNull();
});

test("a limit's kind is that of its unit", () => {
  expect([kindOf("50 packets"), kindOf("120 kB"), kindOf("40 ms")]).toEqual([PACKETS, BYTES, TIME]);
});

test("each step of a slider is another value, by a quarter at most, and round", () => {
  const rates = scale(1e5, 1e10);
  for (const [index, rate] of rates.entries()) {
    expect(nearest(rate, rates)).toBe(index);
    const ratio = (rates[index + 1] ?? rate * 1.1) / rate;
    expect(ratio).toBeGreaterThan(1.05);
    expect(ratio).toBeLessThan(1.26);
    expect(write(rate, RATE).length).toBeLessThan(10);
  }
  expect(scale(1, 20, false, true)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 18, 20]);
  const losses = scale(1e-5, 0.2, true);
  expect([nearest(0, losses), losses[0], nearest(1, losses)]).toEqual([0, 0, losses.length - 1]);
});

test("TOML of every kind of value is read", () => {
  const text = `# comment
a = "x\\"\\u00e9\\n" # after
'b c' = '''
two
lines'''
n = [1_000, 0x10, -1.5e3, inf, true,]
d = 2020-01-01 00:00:00
t.x.y = { k = "v", deep = { z = [ { a = 1 }, { a = 2 } ] } }
long = """\\
   joined \\
   text"""
[t.more]
q = "#no comment"
[[list]]
n = 1
[[list]]
n = 2
[list.sub]
m = 3
`;
  const tree = read(text);
  expect(JSON.parse(JSON.stringify(tree))).toEqual({
    a: 'x"é\n',
    "b c": "two\nlines",
    n: [1000, 16, -1500, null, true],
    d: "2020-01-01 00:00:00",
    t: { x: { y: { k: "v", deep: { z: [{ a: 1 }, { a: 2 }] } } }, more: { q: "#no comment" } },
    long: "joined text",
    list: [{ n: 1 }, { n: 2, sub: { m: 3 } }],
  });
  expect(toml(tree.t ?? "")).toBe(
    '{ x = { y = { k = "v", deep = { z = [{ a = 1 }, { a = 2 }] } } }, more = { q = "#no comment" } }',
  );
});

test("what is no TOML is refused with its line", () => {
  expect(() => read("a = 1\nb = \n")).toThrow("line 2");
  expect(() => read('a = "x')).toThrow("line 1");
});

test("keys of a text are no methods of objects", () => {
  const tree = read('__proto__ = 1\nconstructor.x = "y"\n');
  expect(Object.keys(tree)).toEqual(["__proto__", "constructor"]);
  expect("toString" in read("")).toBe(false);
});

test("an editor replaces only what differs", () => {
  expect(difference("rate = 10", "rate = 5")).toEqual({ from: 7, to: 9, insert: "5" });
  expect(difference("aa", "aaa")).toEqual({ from: 2, to: 2, insert: "a" });
  expect(difference("same", "same")).toMatchObject({ insert: "" });
});
