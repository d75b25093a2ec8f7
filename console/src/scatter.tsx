// Points of two values each, of which the first may be a word.
import { useRef } from "preact/hooks";
import { colour } from "./chart";
import { marks, short } from "./marks";
import { Drawing, useWidth } from "./parts";
import { number, shown } from "./text";

export type Point = { name: string; x: string | number | boolean | null; y: number | null };
const kHeight = 300, kLeft = 64, kRight = 16, kTop = 26, kBottom = 40, kNameMax = 20;
const cut = (text: string) => text.length > kNameMax ? text.slice(0, kNameMax - 1) + "…" : text;
const said = (x: Point["x"]) => x === null ? "not said" : typeof x === "number" ? number(x, 8) : shown(x);

export function Scatter({ name, x_name, y_name, points }: { name: string; x_name: string; y_name: string; points: Point[] }) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const drawn = points.map((point, i) => ({ ...point, i })).filter((point) => point.y !== null);
  // Numbers stand by their size, words side by side in the order of their letters.
  const is_measure = points.every((point) => typeof point.x === "number");
  const words = [...new Set(points.map((point) => said(point.x)))].sort();
  const at = (point: Point) => is_measure ? point.x as number : words.indexOf(said(point.x));
  const [x_low, x_high] = range(drawn.map(at)), [y_low, y_high] = range(drawn.map((point) => point.y!));
  const x_of = (x: number) => kLeft + (x - x_low) / (x_high - x_low) * (width - kLeft - kRight);
  const y_of = (y: number) => kHeight - kBottom - (y - y_low) / (y_high - y_low) * (kHeight - kTop - kBottom);
  const x_marks: [number, string][] = is_measure ? marks(x_low, x_high, width > 500 ? 6 : 3).map((x) => [x, short(x)]) : words.map((word, i) => [i, cut(word)]);
  return <Drawing name={name} says={drawn.map((point) => `${point.name} ${said(point.x)}, ${number(point.y)}`).join("; ") || "no values"}
    head={["job", x_name, y_name]} rows={points.map((point) => [point.name, point.x, point.y])}>
    <div ref={place}>{drawn.length > 0 && <svg width={width} height={kHeight} class="drawn" aria-hidden="true">
      {marks(y_low, y_high, 5).map((y) => <><line class="grid" x1={kLeft} x2={width - kRight} y1={y_of(y)} y2={y_of(y)} />
        <text x={kLeft - 6} y={y_of(y) + 4} text-anchor="end">{short(y)}</text></>)}
      {x_marks.map(([x, text]) => <><line class="grid" x1={x_of(x)} x2={x_of(x)} y1={kTop} y2={kHeight - kBottom} />
        <text x={x_of(x)} y={kHeight - kBottom + 16} text-anchor="middle">{text}</text></>)}
      <text x={width - kRight} y={kHeight - 6} text-anchor="end">{shown(x_name)}</text><text x="0" y="12">{shown(y_name)}</text>
      {drawn.map((point) => { const x = x_of(at(point)), y = y_of(point.y!); return <g>
        <circle cx={x} cy={y} r="5" style={{ fill: `var(${colour(point.i)})` }}><title>{shown(point.name)}</title></circle><text x={x + 8} y={y - 6}>{point.i + 1}</text></g>; })}
    </svg>}</div>
    <p class="key">{points.map((point, i) => <span class="long">{i + 1} {shown(point.name)}{point.y === null && ": not known"}</span>)}</p></Drawing>;
}

// From the least to the greatest, with a margin, so that no point stands on an edge.
function range(values: number[]): [number, number] {
  const low = Math.min(...values), high = Math.max(...values), margin = (high - low) * 0.08 || Math.abs(low) * 0.1 || 1;
  return [low - margin, high + margin];
}
