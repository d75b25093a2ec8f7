// Lines over rounds.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { when_measured } from "./measured";
import { Drawing } from "./parts";
import { Line, thinned, with_edges } from "./series";
import { number, shown } from "./text";

const kColours = 6;  // --line-0 and on, in console.css; further lines are dashed
export const colour = (line: number) => `--line-${line % kColours}`;
export const dash = (line: number) => line < kColours ? undefined : [8, 4];

// What the longest label of an axis needs; uPlot asks first without labels.
const label_width = (_: uPlot, labels: string[] | null) => Math.max(40, 18 + 7 * Math.max(...(labels ?? [""]).map((text) => text.length)));

// Between marks of an axis of counts: there is no round 1.5.
const kCounts = Array.from({ length: 9 }, (_, power) => [1, 2, 5].map((one) => one * 10 ** power)).flat();

// Whether the browser's colours are dark, as that changes.
function useDark(): boolean {
  const [query] = useState(() => matchMedia("(prefers-color-scheme: dark)"));
  const [is_dark, set] = useState(query.matches);
  useEffect(() => {
    const changed = () => set(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return is_dark;
}

const kBandOpacity = "33";  // of a colour, as its last two digits

// What a chart has as a table.
export function chart_rows({ xs, lines }: { xs: number[]; lines: Line[] }): unknown[][] {
  const { all } = with_edges(lines);
  return xs.map((x, i) => [x, ...all.map(([, ys]) => ys[i])]);
}

// A line for each of `lines` over `xs`, with its band if it has one; what is null is a gap, which `spans` draws over. Where these are points of more,
// `count` says of how many, and `whole` gives all as a table. Draws anew when `xs` or `lines` is another object.
export function Chart({ name, xs, lines, x_name = "round", spans = true, height = 220, count = xs.length, whole }:
  { name: string; xs: number[]; lines: Line[]; x_name?: string; spans?: boolean; height?: number; count?: number; whole?: () => Promise<unknown[][]> }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const is_dark = useDark();
  const { all, bands, data } = useMemo(() => {
    const edged = with_edges(lines), drawn = thinned(xs, edged.all);
    return { ...edged, data: [drawn.xs, ...drawn.lines.map(([, ys]) => ys)] as uPlot.AlignedData };
  }, [xs, lines]);
  const shows = useRef<uPlot.AlignedData>(), newest = useRef(data);  // what the plot was given last, and what it is to have
  newest.current = data;
  const names = all.map(([label]) => shown(label));
  // Before anything is painted: a page that is laid out and painted without its charts is laid out and painted twice.
  useLayoutEffect(() => {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink"), grid = style.getPropertyValue("--line");
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
    const wide = (width: number) => Math.max(240, width);
    let watch: ResizeObserver | undefined;
    const forget = when_measured(place.current!, (now) => {
      plot.current = new uPlot({ width: wide(now), height, scales: { x: { time: false } }, axes: [xs.every(Number.isInteger) ? { ...axis, incrs: kCounts } : axis, { ...axis, size: label_width }],
        series: [{ label: x_name }, ...names.map((label, i) => i < lines.length ?
          { label, stroke: style.getPropertyValue(colour(i)), width: 2, dash: dash(i), spanGaps: spans, points: { show: xs.length < 40 } } :
          { label, class: "edge", stroke: "transparent", width: 0, spanGaps: spans, points: { show: false } })],
        bands: bands.map(({ upper, lower, of }) => ({ series: [upper + 1, lower + 1], fill: style.getPropertyValue(colour(of)).trim() + kBandOpacity })) },
        shows.current = newest.current, place.current!);
      const size = () => wide(place.current!.clientWidth);
      watch = new ResizeObserver(() => size() === plot.current!.width || plot.current!.setSize({ width: size(), height }));  // it is told once of the size that it has
      watch.observe(place.current!);
    });
    return () => { forget(); watch?.disconnect(); plot.current?.destroy(); plot.current = undefined; };
  }, [is_dark, names.join("\n")]);
  useLayoutEffect(() => {
    if (shows.current !== data) plot.current?.setData(shows.current = data);
  }, [data]);
  const last = lines.map(([label, ys]) => { const y = ys.filter((one) => one !== null).at(-1); return `${label} ${y === undefined ? "unknown" : number(y)}`; }).join(", ");
  return <Drawing name={name} says={`${count} ${x_name}s; last ${last}`} head={[x_name, ...all.map(([label]) => label)]}
    rows={whole ?? (() => chart_rows({ xs, lines }))}><div ref={place} /></Drawing>;
}
