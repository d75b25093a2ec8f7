// Runs as lines through parallel axes, one for each setting that differs and each result. One line may be picked out of the others.
import { useRef } from "preact/hooks";
import { colour, dash } from "./chart";
import { Axis, axes_of } from "./parallel";
import { Drawing, useWidth } from "./parts";
import type { Run } from "./runs";
import { number, shown } from "./text";

const kHeight = 320, kTop = 48, kBottom = 24, kSide = 56, kAxisWidth = 104, kNameMax = 16, kMarkMax = 12;
const cut = (text: string, most: number) => text.length > most ? text.slice(0, most - 1) + "…" : text;
const said = (value: unknown) => value === null ? "not known" : typeof value === "number" ? number(value, 6) : shown(value);
const y_of = (at: number) => kHeight - kBottom - at * (kHeight - kTop - kBottom);

// `names` of `runs`, in their order; `picked`: the id of one of their jobs, or empty.
export function Parallel({ runs, names, picked, pick }: { runs: Run[]; names: string[]; picked: string; pick: (id: string) => void }) {
  const place = useRef<HTMLDivElement>(null);
  const room = useWidth(place);
  const { axes, left_out } = axes_of(runs);
  const width = Math.max(room, 2 * kSide + (axes.length - 1) * kAxisWidth);
  const x_of = (i: number) => axes.length > 1 ? kSide + i * (width - 2 * kSide) / (axes.length - 1) : width / 2;
  const toggle = (id: string) => pick(id === picked ? "" : id);
  const order = runs.map((_, i) => i).sort((a, b) => Number(runs[a].job.id === picked) - Number(runs[b].job.id === picked));
  const dimmed = (i: number) => picked && runs[i].job.id !== picked ? "dimmed" : undefined;
  const head = axes.map((axis) => axis.name);
  return <section><div class="bar"><h2>Settings against results</h2></div>
    <p class="key" role="group" aria-label="Pick a run out">{runs.map(({ job }, i) => <button class="plain" aria-pressed={job.id === picked} onClick={() => toggle(job.id)}>
      <svg width="24" height="8" aria-hidden="true"><path class="run" d="M0 4h24" style={stroke(i)} /></svg> {shown(names[i])}</button>)}</p>
    <Drawing name="Parallel coordinates" says={`${runs.length} runs over ${head.join(", ")}`} head={["job", ...head]} rows={runs.map((_, i) => [names[i], ...axes.map((axis) => axis.values[i])])} is_wide>
      <div ref={place}>
        <svg width={width} height={kHeight} class="drawn" aria-hidden="true">
          {order.map((i) => <g class={dimmed(i)} onClick={() => toggle(runs[i].job.id)}><title>{shown(names[i])}</title>
            {segments(axes, i).map((piece) => <path class="run" d={"M" + piece.map(([axis, at]) => `${x_of(axis)} ${y_of(at)}`).join("L")} style={stroke(i)} />)}
            {axes.map((axis, of) => axis.places[i] !== null && <circle cx={x_of(of)} cy={y_of(axis.places[i]!)} r="4" style={{ fill: `var(${colour(i)})` }} />)}</g>)}
          {axes.map((axis, i) => <AxisMarks axis={axis} x={x_of(i)} />)}
        </svg></div></Drawing>
    {left_out > 0 && <p>{left_out} more settings differ: the table below has them.</p>}
    {picked && <PickedRun axes={axes} runs={runs} names={names} picked={picked} />}</section>;
}

const stroke = (i: number) => ({ stroke: `var(${colour(i)})`, strokeDasharray: dash(i)?.join(" ") });

// Where a run has no value its line is broken.
function segments(axes: Axis[], run: number): [number, number][][] {
  const pieces: [number, number][][] = [[]];
  axes.forEach((axis, i) => { const at = axis.places[run]; if (at === null) pieces.push([]); else pieces.at(-1)!.push([i, at]); });
  return pieces.filter((piece) => piece.length > 1);
}

function AxisMarks({ axis, x }: { axis: Axis; x: number }) {
  const last = axis.name.split(".").at(-1)!;
  return <g><title>{shown(axis.name)}</title><line class="axis" x1={x} x2={x} y1={kTop} y2={kHeight - kBottom} />
    <text x={x} y="14" text-anchor="middle" class={axis.is_result ? "result" : undefined}>{cut(shown(last), kNameMax)}</text>
    {axis.marks.map(({ at, value }) => <text x={x} y={y_of(at) + (at > 0.5 ? -8 : 16)} text-anchor="middle" class="reading">{cut(said(value), kMarkMax)}</text>)}</g>;
}

function PickedRun({ axes, runs, names, picked }: { axes: Axis[]; runs: Run[]; names: string[]; picked: string }) {
  const i = runs.findIndex(({ job }) => job.id === picked);
  return i < 0 ? null : <p role="status" class="now">{shown(names[i])}: {axes.map((axis) => `${shown(axis.name)} ${said(axis.values[i])}`).join("; ")}</p>;
}
