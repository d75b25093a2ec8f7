// How long updates are and where they point: as far as the level of the job lets anybody know.
import type { Json } from "./api";
import { useMemo } from "preact/hooks";
import { Buckets, edge } from "./buckets";
import { Chart, chart_rows } from "./chart";
import { kCosineLines, without_cosine } from "./cosines";
import type { Curves } from "./curves";
import { bars_of, lines_of, round_with } from "./distribution";
import { clip_line, kNormLines, why_no_norms } from "./norms";
import { number } from "./text";

// `round`: the one that the page shows.
export function UpdateNorms({ job, curves, all, rounds, round }: { job: Json; curves: Curves; all: () => Promise<Curves>; rounds: Json[]; round?: Json }) {
  const { clip, norms, cosines } = useMemo(() => ({ clip: clip_line(job, curves), norms: lines_of(curves, kNormLines), cosines: lines_of(curves, kCosineLines) }), [curves]);
  const measured = round_with("update_norms", rounds, round), directed = round_with("update_cosines", rounds, round);
  return <section><div class="bar"><h2>Norms and cosines of updates</h2></div>
    {(measured || directed || norms || cosines || clip) && <div class="charts">
      {measured && <Norms of={measured} />}
      {norms && <Chart name="Norm that shares of the updates are within, by round" {...norms} count={curves.total} whole={async () => chart_rows(lines_of(await all(), kNormLines)!)} />}
      {directed && <Cosines of={directed} />}
      {cosines && <Chart name="Cosine that shares of the updates are below, by round" {...cosines} count={curves.total} whole={async () => chart_rows(lines_of(await all(), kCosineLines)!)} />}
      {clip && <Chart name="Norm that a share of the updates is within, by round" {...clip} count={curves.total} whole={async () => chart_rows(clip_line(job, await all())!)} />}</div>}
    <p>{why_no_norms(job, !!measured)}</p></section>;
}

function Norms({ of: { number: name, model: { update_norms } } }: { of: Json }) {
  const { updates, p10, p50, p90 } = update_norms, shares = `${number(updates)} updates, a tenth within ${edge(p10)}, half within ${edge(p50)}, nine tenths within ${edge(p90)}`;
  return <Buckets name={`Norms of the updates of round ${name}`} says={shares} bars={bars_of(update_norms)} told={`L2 norm, each update once, whatever it weighs. ${shares}.`} />;
}

function Cosines({ of: { number: name, model: { update_cosines } } }: { of: Json }) {
  const { updates, p10, p50, p90 } = update_cosines, below = p50 === undefined ? "" : `, a tenth below ${edge(p10)}, half below ${edge(p50)}, nine tenths below ${edge(p90)}`;
  const shares = `${number(updates)} updates${below}`, without = without_cosine(update_cosines);
  return <Buckets name={`Cosines of the updates of round ${name} with its step`} says={shares + (without && `.${without}`)} bars={bars_of(update_cosines)} every={5}
    told={`Each update once, whatever it weighs. ${shares}.${without}`} />;
}
