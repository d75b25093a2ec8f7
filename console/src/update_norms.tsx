// How long updates are: as far as the level of the job lets anybody know.
import type { Json } from "./api";
import { useMemo, useRef } from "preact/hooks";
import { Chart, chart_rows } from "./chart";
import type { Curves } from "./curves";
import { clip_line, norm_bars, round_with_norms, share_lines, why_no_norms } from "./norms";
import { Drawing, useWidth } from "./parts";
import { number } from "./text";

// `round`: the one that the page shows.
export function UpdateNorms({ job, curves, all, rounds, round }: { job: Json; curves: Curves; all: () => Promise<Curves>; rounds: Json[]; round?: Json }) {
  const clip = useMemo(() => clip_line(job, curves), [curves]), shares = useMemo(() => share_lines(curves), [curves]), of = round_with_norms(rounds, round);
  return <section><div class="bar"><h2>Norms of updates</h2></div>
    {(of || shares || clip) && <div class="charts">
      {of && <Norms of={of} />}
      {shares && <Chart name="Norm that shares of the updates are within, by round" xs={shares.xs} lines={shares.lines} count={curves.total} whole={async () => chart_rows(share_lines(await all())!)} />}
      {clip && <Chart name="Norm that a share of the updates is within, by round" xs={clip.xs} lines={clip.lines} count={curves.total} whole={async () => chart_rows(clip_line(job, await all())!)} />}</div>}
    <p>{why_no_norms(job, !!of)}</p></section>;
}

const kHeight = 180, kFoot = 18, kHead = 16, kBarMax = 56;
const edge = (value: number | null) => value === null ? "∞" : Number(value.toPrecision(3)).toString();

function Norms({ of: { number: name, model } }: { of: Json }) {
  const place = useRef<HTMLDivElement>(null), width = useWidth(place);
  const bars = norm_bars(model), bar = Math.min(kBarMax, width / bars.length), most = Math.max(...bars.map(([, , count]) => count));
  const every = Math.ceil(44 / bar);  // of the edges has its number
  const { updates, p10, p50, p90 } = model.update_norms;
  return <Drawing name={`Norms of the updates of round ${name}`} says={`${number(updates)} updates, a tenth within ${edge(p10)}, half within ${edge(p50)}, nine tenths within ${edge(p90)}`}
    head={["from", "below", "updates"]} rows={bars}>
    <div ref={place}><svg class="drawn" width={width} height={kHead + kHeight + kFoot} aria-hidden="true">
      {bars.map(([from, below, count], i) => {
        const height = count && Math.max(1, count / most * kHeight), top = kHead + kHeight - height;
        return <g><rect x={i * bar} width={Math.max(1, bar - 1)} y={top} height={height} style={{ fill: "var(--line-0)" }}><title>{edge(from)} to {edge(below)}: {number(count)}</title></rect>
          {count > 0 && bar >= 28 && <text x={(i + 0.5) * bar} y={top - 4} text-anchor="middle">{number(count)}</text>}
          {i % every === 0 && <text x={i * bar} y={kHead + kHeight + 14}>{edge(from)}</text>}</g>;
      })}
      <line class="grid" x1="0" x2={width} y1={kHead + kHeight} y2={kHead + kHeight} /></svg></div>
    <p><small>L2 norm, each update once, whatever it weighs. {number(updates)} updates: a tenth within {edge(p10)}, half within {edge(p50)}, nine tenths within {edge(p90)}.</small></p></Drawing>;
}
