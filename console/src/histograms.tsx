// What the values of a model's parameters are like: a small figure of each, and all of them as a table.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Json } from "./api";
import { counted, shape_text } from "./model_boxes";
import { Drawing, Said, Table, useWidth } from "./parts";
import { number, percent, shown } from "./text";

const kPage = 24, kHeight = 72;
const figure = (value: unknown): string => typeof value === "number" ? Number(value.toPrecision(4)).toString() : "–";
const share = (count: number, of: number) => of ? percent(count / of) : "–";

// From where to where a bar goes, and how many values are in it.
export function bars_of(parameter: Json): [number, number, number][] {
  const { bins = [], min, max } = parameter;
  return bins.map((count: number, i: number) => [min + (max - min) * i / bins.length, min + (max - min) * (i + 1) / bins.length, count]);
}

function Histogram({ of }: { of: Json }) {
  const place = useRef<HTMLDivElement>(null), all = useWidth(place, 160);
  const bars = bars_of(of), most = Math.max(1, ...bars.map(([, , count]) => count)), width = all / Math.max(1, bars.length), zero = -of.min / (of.max - of.min) * all;
  const height = (count: number) => Math.max(1, count / most * kHeight);
  const says = of.bins ? `from ${figure(of.min)} to ${figure(of.max)}, mean ${figure(of.mean)}, deviation ${figure(of.deviation)}` : "no value is finite";
  const wrong = of.non_finite > 0;
  return <div class="histogram"><Drawing name={of.name} says={`${says}; ${counted(of.non_finite, "value")} not finite`} head={["from", "to", "values"]} rows={bars}>
    <div ref={place}><svg class="drawn" width={all} height={kHeight + 14} aria-hidden="true">
      {bars.map(([, , count], i) => count > 0 && <rect x={i * width} width={Math.max(1, width - 1)} y={kHeight - height(count)} height={height(count)} style={{ fill: "var(--line-0)" }} />)}
      <line class="grid" x1="0" x2={all} y1={kHeight} y2={kHeight} />
      {of.min < 0 && of.max > 0 && <line class="grid" x1={zero} x2={zero} y1="0" y2={kHeight} stroke-dasharray="3 3" />}
      <text x="0" y={kHeight + 12}>{figure(of.min)}</text><text x={all} y={kHeight + 12} text-anchor="end">{figure(of.max)}</text>
    </svg></div></Drawing>
    <p><small>{shape_text(of.shape)}{of.role === "state" ? ", running statistic" : of.frozen ? ", frozen" : ""}; mean {figure(of.mean)}, deviation {figure(of.deviation)}; zeros {share(of.zeros, of.read)}
      {of.read < of.values && <>; of {number(of.read)} values</>}</small>{wrong && <strong class="error"> {number(of.non_finite)} not finite</strong>}</p></div>;
}

// `path`: of the version.
export function Histograms({ path }: { path: string }) {
  const [parameters, set] = useState<Json[]>([]);
  const [next, set_next] = useState<number | undefined>(0);
  const [waits, set_waits] = useState(false);
  const [error, set_error] = useState("");
  const more = () => {
    set_waits(true);
    get(`${path}/parameters?limit=${kPage}&after=${next}`).then((page) => { set([...parameters, ...page.parameters]); set_next(page.next_after); set_error(""); }, (e) => set_error(e.message))
      .finally(() => set_waits(false));
  };
  useEffect(more, []);
  return <section><Table name="Parameters" head={["parameter", "role", "shape", "values", "min", "max", "mean", "deviation", "zeros", "not finite", "looked at"]} rows={parameters.map((of) =>
      [of.name, of.role === "state" ? "running statistic" : of.frozen ? "frozen" : "trained", shape_text(of.shape), number(of.values), figure(of.min), figure(of.max), figure(of.mean), figure(of.deviation),
        share(of.zeros, of.read), number(of.non_finite), number(of.read)])} />
    <Said error={error} waits={waits && !parameters.length} />
    <div class="histograms">{parameters.map((of, i) => <Histogram key={i} of={of} />)}</div>
    {next !== undefined && parameters.length > 0 && <p><button disabled={waits} onClick={more}>Show more parameters</button> {shown(`${parameters.length} are shown.`)}</p>}</section>;
}
