// How long updates are: as far as the level of the job lets anybody know.
import type { Json } from "./api";
import { Chart } from "./chart";
import { clip_line, why_no_norms } from "./norms";

export function UpdateNorms({ job, rounds }: { job: Json; rounds: Json[] }) {
  const line = clip_line(job, rounds);
  return <section><div class="bar"><h2>Norms of updates</h2></div>
    {line && <Chart name="Norm that a share of the updates is within, by round" xs={line.xs} lines={line.lines} />}
    <p>{why_no_norms(job)}</p></section>;
}
