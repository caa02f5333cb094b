/** What figures are drawn with: a canvas, or the text of an SVG. */

/** How a line is drawn. Colours are names of CSS variables. */
export interface Stroke {
  colour: string;
  width: number;
  dash?: number[];
  opacity?: number;
}

/** How text is drawn. */
export interface Lettering {
  colour: string;
  size: number;
  align?: "left" | "center" | "right";
  bold?: boolean;
}

/** Draws in px. Points are x and y in turn; NaN lifts the pen. */
export interface Pen {
  line(points: ArrayLike<number>, stroke: Stroke): void;
  area(points: ArrayLike<number>, colour: string, opacity: number): void;
  text(x: number, y: number, text: string, lettering: Lettering): void;
  /** Draws within a rectangle only. */
  within(frame: Box, draw: () => void): void;
}

/** A rectangle, px. */
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Where a plot's values are drawn. */
export interface Frame extends Box {
  from: number;
  to: number;
  low: number;
  high: number;
}

/** Place of a time, px. */
export function across(frame: Frame, time: number): number {
  return frame.left + ((time - frame.from) / (frame.to - frame.from)) * frame.width;
}

/** Place of a value, px. */
export function down(frame: Frame, value: number): number {
  return frame.top + (1 - (value - frame.low) / (frame.high - frame.low)) * frame.height;
}

/** Looks up the value of a CSS variable. */
export type Palette = (name: string) => string;

const FONT = "system-ui, sans-serif";

/** Draws on a canvas whose pixels are `ratio` per px. */
export class CanvasPen implements Pen {
  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly palette: Palette,
    private readonly ratio: number,
  ) {}

  line(points: ArrayLike<number>, { colour, width, dash = [], opacity = 1 }: Stroke): void {
    const { context, ratio } = this;
    context.globalAlpha = opacity;
    context.strokeStyle = this.palette(colour);
    context.lineWidth = width * ratio;
    context.lineJoin = "round";
    context.setLineDash(dash.map((one) => one * ratio));
    context.beginPath();
    this.trace(points);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  area(points: ArrayLike<number>, colour: string, opacity: number): void {
    const { context } = this;
    context.globalAlpha = opacity;
    context.fillStyle = this.palette(colour);
    context.beginPath();
    this.trace(points);
    context.fill();
    context.globalAlpha = 1;
  }

  text(x: number, y: number, text: string, { colour, size, align = "left", bold = false }: Lettering): void {
    const { context, ratio } = this;
    context.fillStyle = this.palette(colour);
    context.font = `${bold ? "600 " : ""}${size * ratio}px ${FONT}`;
    context.textAlign = align;
    context.textBaseline = "alphabetic";
    context.fillText(text, x * ratio, y * ratio);
  }

  within({ left, top, width, height }: Box, draw: () => void): void {
    const { context, ratio } = this;
    context.save();
    context.beginPath();
    context.rect(left * ratio, top * ratio, width * ratio, height * ratio);
    context.clip();
    draw();
    context.restore();
  }

  private trace(points: ArrayLike<number>): void {
    const { context, ratio } = this;
    let down = false;
    for (let i = 0; i + 1 < points.length; i += 2) {
      const [x, y] = [points[i] ?? Number.NaN, points[i + 1] ?? Number.NaN];
      if (Number.isNaN(x) || Number.isNaN(y)) down = false;
      else if (down) context.lineTo(x * ratio, y * ratio);
      else {
        context.moveTo(x * ratio, y * ratio);
        down = true;
      }
    }
  }
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
const place = (value: number): string => String(Math.round(value * 100) / 100);

/** Collects the elements of an SVG. */
export class SvgPen implements Pen {
  private readonly parts: string[] = [];
  private clips = 0;

  constructor(
    private readonly palette: Palette,
    private readonly width: number,
    private readonly height: number,
  ) {}

  line(points: ArrayLike<number>, { colour, width, dash = [], opacity = 1 }: Stroke): void {
    const path = this.path(points);
    if (!path) return;
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    const light = opacity < 1 ? ` stroke-opacity="${opacity}"` : "";
    const stroke = escaped(this.palette(colour));
    this.parts.push(
      `<path d="${path}" fill="none" stroke="${stroke}" stroke-width="${width}" stroke-linejoin="round"${dashes}${light}/>`,
    );
  }

  area(points: ArrayLike<number>, colour: string, opacity: number): void {
    const path = this.path(points);
    if (path) this.parts.push(`<path d="${path}" fill="${escaped(this.palette(colour))}" fill-opacity="${opacity}"/>`);
  }

  text(x: number, y: number, text: string, { colour, size, align = "left", bold = false }: Lettering): void {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const weight = bold ? ' font-weight="600"' : "";
    const where = `x="${place(x)}" y="${place(y)}" font-size="${size}" text-anchor="${anchor}"${weight}`;
    this.parts.push(`<text ${where} fill="${escaped(this.palette(colour))}">${escaped(text)}</text>`);
  }

  within({ left, top, width, height }: Box, draw: () => void): void {
    const name = `clip-${this.clips++}`;
    const box = `x="${place(left)}" y="${place(top)}" width="${place(width)}" height="${place(height)}"`;
    this.parts.push(`<clipPath id="${name}"><rect ${box}/></clipPath><g clip-path="url(#${name})">`);
    draw();
    this.parts.push("</g>");
  }

  /** The whole document. */
  document(title: string): string {
    const { width, height } = this;
    const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    const paper = `<rect width="${width}" height="${height}" fill="${escaped(this.palette("--paper"))}"/>`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="${FONT}"><title>${escaped(title)}</title>${paper}${this.parts.join("")}</svg>\n`;
  }

  private path(points: ArrayLike<number>): string {
    const out: string[] = [];
    let down = false;
    for (let i = 0; i + 1 < points.length; i += 2) {
      const [x, y] = [points[i] ?? Number.NaN, points[i + 1] ?? Number.NaN];
      if (Number.isNaN(x) || Number.isNaN(y)) down = false;
      else {
        out.push(`${down ? "L" : "M"}${place(x)} ${place(y)}`);
        down = true;
      }
    }
    return out.join("");
  }
}
