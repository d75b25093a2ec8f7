// How long updates are: as far as the level of the job lets anybody know.
import type { Json } from "./api";
import { useMemo } from "preact/hooks";
import { Chart, chart_rows } from "./chart";
import type { Curves } from "./curves";
import { clip_line, why_no_norms } from "./norms";

export function UpdateNorms({ job, curves, all }: { job: Json; curves: Curves; all: () => Promise<Curves> }) {
  const line = useMemo(() => clip_line(job, curves), [curves]);
  return <section><div class="bar"><h2>Norms of updates</h2></div>
    {line && <Chart name="Norm that a share of the updates is within, by round" xs={line.xs} lines={line.lines} count={curves.total} whole={async () => chart_rows(clip_line(job, await all())!)} />}
    <p>{why_no_norms(job)}</p></section>;
}
