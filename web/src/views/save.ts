/** Saves what a view shows: CSV, SVG, PNG. */

import type { Figure } from "./figure";
import { csv, type Grid } from "./grid";
import { colour } from "./palette";
import { off, stretch } from "./shown";
import { figureSvg, PICTURE } from "./svg";

/** Pixels of a PNG per px. */
const RATIO = 2;

/** Offers a file for download. */
export function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser reads the address after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Saves a grid as CSV. */
export function saveCsv(name: string, grid: Grid): void {
  save(`${fileName(name)}.csv`, new Blob(csv(grid), { type: "text/csv" }));
}

/** A figure as SVG, in the page's present colours. */
export function svgOf(figure: Figure): string {
  return figureSvg(figure, off, stretch.peek(), colour);
}

/** Saves a figure as SVG. */
export function saveSvg(figure: Figure): void {
  save(`${fileName(figure.id)}.svg`, new Blob([svgOf(figure)], { type: "image/svg+xml" }));
}

/**
 * Saves a figure as PNG, at twice the size of the SVG.
 * @throws Error if the browser cannot draw it.
 */
export async function savePng(figure: Figure): Promise<void> {
  const url = URL.createObjectURL(new Blob([svgOf(figure)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = PICTURE.width * RATIO;
    canvas.height = PICTURE.height * RATIO;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
    if (!blob) throw new Error("the browser cannot write a PNG of this size");
    save(`${fileName(figure.id)}.png`, blob);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** A name that all file systems take. */
export function fileName(name: string): string {
  return name.replace(/->/g, "-to-").replace(/[^A-Za-z0-9_.-]+/g, "-");
}
