/** Content of the page as a fragment of its address: compressed text with a version and a checksum. */

/** Version of the fragment's format. */
export const VERSION = 1;

/** Most bytes that a fragment may hold when it is inflated. */
export const MOST_BYTES = 1_000_000;

/** A link that cannot be read; its message is for the user. */
export class LinkFailure extends Error {}

/** CRC-32 of bytes (ISO 3309, as in RFC 1952), as eight hexadecimal digits. */
export function crc32(bytes: Uint8Array): string {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ((crc ^ 0xffffffff) >>> 0).toString(16).padStart(8, "0");
}

/** Base64 in the alphabet of addresses, without padding (RFC 4648, section 5). */
function base64url(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}

/** Bytes that a stream yields. */
async function collect(stream: ReadableStream<Uint8Array>, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      throw new LinkFailure(
        `The link holds more than ${(most / 1e6).toLocaleString("en")} MB. Open the scenario from a file instead.`,
      );
    }
    parts.push(value);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const through = (
  bytes: Uint8Array<ArrayBuffer>,
  by: CompressionStream | DecompressionStream,
): ReadableStream<Uint8Array> =>
  new Blob([bytes]).stream().pipeThrough(by as ReadableWritablePair<Uint8Array, Uint8Array<ArrayBuffer>>);

/** Rejects browsers that cannot compress. */
function checkBrowser(): void {
  if (typeof CompressionStream !== "undefined" && typeof DecompressionStream !== "undefined") return;
  throw new LinkFailure(
    "This browser can neither make nor open links. Firefox 113, Chrome 103, Safari 16.4 or later can.",
  );
}

/**
 * Packs a text: `VERSION.CHECKSUM.DATA`.
 * @throws LinkFailure if the text is longer than a link may hold.
 */
export async function pack(text: string): Promise<string> {
  checkBrowser();
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MOST_BYTES) {
    throw new LinkFailure("The scenario is longer than 1 MB, which is too long for a link. Download the TOML instead.");
  }
  const packed = await collect(through(bytes, new CompressionStream("deflate-raw")), Number.POSITIVE_INFINITY);
  return `${VERSION}.${crc32(packed)}.${base64url(packed)}`;
}

/** Whether a fragment has the form of a packed text; those of headings do not. */
export function claims(fragment: string): boolean {
  return /^\d+\./.test(fragment);
}

/**
 * Unpacks a text.
 * @throws LinkFailure if the fragment is cut, changed, too large, or of another version.
 */
export async function unpack(fragment: string): Promise<string> {
  const [version, checksum, data] = fragment.split(".");
  if (version !== String(VERSION)) {
    throw new LinkFailure(
      `The link has version ${version?.slice(0, 20)} of the format; this page reads version ${VERSION}. Open the link with the page that made it.`,
    );
  }
  const cut = "The link is not complete, or was changed: its checksum differs. Copy the whole link again.";
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = bytesOf(data ?? "");
  } catch {
    throw new LinkFailure(cut);
  }
  checkBrowser();
  if (!data || crc32(bytes) !== checksum) throw new LinkFailure(cut);
  let text: Uint8Array;
  try {
    text = await collect(through(bytes, new DecompressionStream("deflate-raw")), MOST_BYTES);
  } catch (error) {
    if (error instanceof LinkFailure) throw error;
    throw new LinkFailure("The link holds no compressed text.");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(text);
  } catch {
    throw new LinkFailure("The link holds no text.");
  }
}
