import { deflateRawSync } from "node:zlib";
import { beforeEach, expect, test } from "vitest";
import { edited, hidden, own, range, texts } from "../../src/model/state";
import { draft, drafts, remove } from "../../src/own/drafts";
import { crc32, LinkFailure, pack, unpack } from "../../src/share/codec";
import { offered, present, read, show, written } from "../../src/share/content";
import { snippet } from "../../src/share/share-panel";

/** A fragment with a right checksum around any bytes. */
function around(bytes: Uint8Array): string {
  return `1.${crc32(bytes)}.${Buffer.from(bytes).toString("base64url")}`;
}

/** The message that a fragment fails with. */
async function refused(fragment: string): Promise<string> {
  try {
    await unpack(fragment);
  } catch (error) {
    if (error instanceof LinkFailure) return error.message;
    throw error;
  }
  throw new Error("it was read");
}

const CONTROL = { name: "mine", title: "Mine", params: [], source: "export default class {}" };

beforeEach(() => {
  texts.a.value = "";
  texts.b.value = null;
  own.value = [];
  offered.value = [];
});

test("the checksum is CRC-32", () => {
  expect(crc32(new TextEncoder().encode("123456789"))).toBe("cbf43926");
});

test("a text comes back as it went, in letters that addresses may have", async () => {
  const text = `# größer ≥ 10 Mb/s\n${"rate".repeat(1000)}`;
  const packed = await pack(text);
  expect(packed).toMatch(/^1\.[\da-f]{8}\.[\w-]+$/);
  expect(packed.length).toBeLessThan(text.length / 10);
  expect(await unpack(packed)).toBe(text);
});

test("a link that is cut or changed anywhere is refused with what to do", async () => {
  const packed = await pack("duration = '60 s'");
  for (let length = 2; length < packed.length; length++) {
    expect(await refused(packed.slice(0, length))).toContain("Copy the whole link");
  }
  expect(await refused(`${packed.slice(0, -2)}~~`)).toContain("Copy the whole link");
});

test("a link of another version names both versions", async () => {
  expect(await refused("7.00000000.AAAA")).toContain("version 7 of the format; this page reads version 1");
});

test("a link that would fill the memory is refused", async () => {
  expect(await refused(around(deflateRawSync(Buffer.alloc(200_000_000))))).toContain("more than 1 MB");
  await expect(pack("x".repeat(1_000_001))).rejects.toThrow("too long for a link");
});

test("what is no compressed text is refused", async () => {
  expect(await refused(around(new Uint8Array([255, 255, 255])))).toBe("The link holds no compressed text.");
  expect(await refused(around(deflateRawSync(Buffer.from([255, 254]))))).toBe("The link holds no text.");
});

test("content keeps both texts and the user's controls", () => {
  const content = { a: "one", b: "two", own: [CONTROL], view: { network: true } };
  expect(read(written(content))).toEqual(content);
  expect(read('{"a": "one"}')).toEqual({ a: "one", b: null, own: [], view: {} });
});

test("what content should not have is left out, and content without a scenario refused", () => {
  const hostile = { a: "x", b: 3, own: [{ name: "a b", source: "1" }, null, { ...CONTROL, source: 5 }], view: [1] };
  expect(read(JSON.stringify(hostile))).toEqual({ a: "x", b: null, own: [], view: {} });
  const twice = { a: "x", own: [CONTROL, { ...CONTROL, source: "export default 2" }] };
  expect(read(JSON.stringify(twice)).own.map(({ source }) => source)).toEqual(["export default 2"]);
  for (const text of ["", "null", "[]", "{}", '{"a": 1}']) expect(() => read(text)).toThrow("holds no scenario");
});

test("a control of a link waits until the user allows it, and stays in the link meanwhile", () => {
  show({ a: "x", b: null, own: [CONTROL], view: { __proto__: null, edited: "b", range: [3, 1], hidden: 4 } });
  expect(own.value).toEqual([]);
  expect(present().own.map(({ name, source }) => [name, source])).toEqual([[CONTROL.name, CONTROL.source]]);
  own.value = [CONTROL];
  show({ a: "x", b: null, own: [CONTROL], view: {} });
  expect(offered.value).toEqual([]);
});

test("the text that a notice shows is the one that runs, whatever links came before", () => {
  const [good, evil] = [CONTROL, { ...CONTROL, source: "export default class { evil() {} }" }];
  for (const one of [good, evil, good]) show({ a: "x", b: null, own: [one], view: {} });
  expect(offered.value.map(({ source }) => source)).toEqual([good.source]);
  expect(drafts.value.filter(({ name }) => name === good.name).map(({ source }) => source)).toEqual([good.source]);
  expect(draft.value.source).toBe(good.source);
  remove();
  expect(offered.value).toEqual([]);
});

test("a link without B edits A, and what it leaves out has its default", () => {
  show({ a: "x", b: "y", own: [], view: { edited: "b", range: [1, 3], hidden: ["first"] } });
  expect([edited.value, range.value, [...hidden.value]]).toEqual(["b", [1, 3], ["first"]]);
  show({ a: "x", b: null, own: [], view: { edited: "b" } });
  expect([edited.value, range.value, [...hidden.value]]).toEqual(["a", null, []]);
});

test("the snippet escapes the title", () => {
  const html = snippet(new URL("http://page/?x=1#1.a.b"), '"><script>alert(1)</script>');
  expect(html).toContain('src="http://page/?x=1&amp;embed=1#1.a.b"');
  expect(html).not.toContain("<script>");
});
