// What pages are made of: asking, tables, figures, buttons.
import { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { post } from "./api";
import { save_csv, shown } from "./text";

// What `ask` gives, again each `every` ms. A refusal is said in place of it.
export function useAsked<T>(ask: () => Promise<T>, key: string, every = 0) {
  const [state, set] = useState<{ of?: string; value?: T; error?: string }>({});
  const [again, repeat] = useState(0);
  useEffect(() => {
    let alive = true;
    const run = () => ask().then((value) => alive && set({ of: key, value }),
                                 (error) => alive && set((old) => ({ ...old, of: key, error: error.message })));
    run();
    const timer = every ? setInterval(() => document.hidden || run(), every) : 0;  // a hidden page keeps no session up
    return () => { alive = false; clearInterval(timer); };
  }, [key, again]);
  const mine = state.of === key ? state : {};
  return { ...mine, refresh: () => repeat((n) => n + 1) };
}

export function Said({ error, waits }: { error?: string; waits?: boolean }) {
  return error ? <p role="alert" class="error">{shown(error)}</p> : waits ? <p role="status">Asking the server …</p> : null;
}

export function Table({ name, head, rows }: { name: string; head: string[]; rows: ComponentChildren[][] }) {
  const body = useRef<HTMLTableSectionElement>(null);
  const texts = () => [...(body.current?.rows ?? [])].map((row) => [...row.cells].map((c) => c.textContent));
  return <section><div class="bar"><h2>{name}</h2>
    <button class="plain" disabled={!rows.length} onClick={() => save_csv(name, head, texts())}>CSV</button></div>
    {rows.length === 0 ? <p>There are none.</p> :
      <div class="wide" tabIndex={0} role="region" aria-label={name}><table>
        <thead><tr>{head.map((text) => <th scope="col">{text}</th>)}</tr></thead>
        <tbody ref={body}>{rows.map((row) => <tr>{row.map((value) => <td>{typeof value === "string" ? shown(value) : value}</td>)}</tr>)}</tbody>
      </table></div>}</section>;
}

export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return <dl class="facts">{of.map(([name, value]) => <div><dt>{name}</dt><dd>{typeof value === "string" ? shown(value) : value}</dd></div>)}</dl>;
}

// What the longest label of an axis needs; uPlot asks first without labels.
const label_width = (_: uPlot, labels: string[] | null) => Math.max(40, 18 + 7 * Math.max(...(labels ?? [""]).map((text) => text.length)));

// A line for each of `names` over `xs`; what is null is a gap.
export function Chart({ name, xs, lines }: { name: string; xs: number[]; lines: [string, (number | null)[]][] }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const data = [xs, ...lines.map(([, ys]) => ys)] as uPlot.AlignedData;
  useEffect(() => {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink"), grid = style.getPropertyValue("--line");
    const width = () => Math.max(240, place.current!.clientWidth);
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
    plot.current = new uPlot({ width: width(), height: 220, scales: { x: { time: false } }, axes: [axis, { ...axis, size: label_width }],
      series: [{ label: "round" }, ...lines.map(([label], i) => ({ label, stroke: style.getPropertyValue(i ? "--second" : "--accent"), width: 2, spanGaps: true, points: { show: xs.length < 40 } }))] },
      data, place.current!);
    const watch = new ResizeObserver(() => plot.current!.setSize({ width: width(), height: 220 }));
    watch.observe(place.current!);
    return () => { watch.disconnect(); plot.current!.destroy(); };
  }, []);
  useEffect(() => plot.current?.setData(data), [xs, lines]);
  const last = lines.map(([label, ys]) => `${label} ${ys.filter((y) => y !== null).at(-1) ?? "unknown"}`).join(", ");
  return <figure><figcaption class="bar"><span>{name}</span><button class="plain" onClick={() =>
    save_csv(name, ["round", ...lines.map(([l]) => l)], xs.map((x, i) => [x, ...lines.map(([, ys]) => ys[i])]))}>CSV</button></figcaption>
    <div ref={place} role="img" aria-label={`${name}: ${xs.length} rounds; last ${last}`} /></figure>;
}

// A change that the server may refuse; `sure` is asked before it.
export function Act({ text, path, sure, then }: { text: string; path: string; sure?: string; then: () => void }) {
  const [error, set_error] = useState("");
  const act = () => (!sure || confirm(sure)) && post(path).then(() => { set_error(""); then(); }, (e) => set_error(e.message));
  return <span><button onClick={act}>{text}</button> <Said error={error} /></span>;
}
