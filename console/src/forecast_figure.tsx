// A job's epsilon by release against its budget, and when that will be used up.
import { useMemo } from "preact/hooks";
import type { Json } from "./api";
import { Chart } from "./chart";
import { forecast } from "./forecast";
import { Facts } from "./parts";
import type { Line } from "./series";
import { number } from "./text";

const lines_of = ({ points, releases, budget }: Exclude<ReturnType<typeof forecast>, string>): Line[] => [["spent", points.map((one) => one.release <= releases ? one.epsilon : null)],
  ["forecast", points.map((one) => one.release >= releases ? one.epsilon : null)], ["budget", points.map(() => budget)]];

export function Forecast({ job }: { job: Json }) {
  const told = useMemo(() => forecast(job), [job.rounds_done, job.privacy?.epsilon, job.privacy?.releases]);
  const drawn = useMemo(() => typeof told === "string" ? null : { xs: told.points.map((one) => one.release), lines: lines_of(told) }, [told]);
  if (typeof told === "string" || !drawn) return job.privacy ? <section><div class="bar"><h2>Privacy forecast</h2></div><p>{told}</p></section> : null;
  const { releases, last, delta } = told;
  const rounds_left = last === null ? null : Math.max(0, last - releases);
  const rounds = job.spec.rounds?.count ?? 10, to_go = Math.max(0, rounds - job.rounds_done);
  const is_over = !["running", "paused"].includes(job.state);
  const used_up = rounds_left === null ? "not in sight" : is_over ? "the job is over" : rounds_left === 0 ? "now: no further release fits" :
    rounds_left >= to_go ? `not by the job's ${rounds} rounds` : `after round ${job.rounds_done + rounds_left}`;
  const limited = (job.privacy.populations as Json[]).filter((one) => one.epsilon_budget !== null).length;
  return <section><div class="bar"><h2>Privacy forecast</h2></div>
    <Facts of={[["budget used up", used_up], ["releases so far", number(releases)], ["releases that the budget admits", last === null ? "more than a billion" : number(last)],
      ["rounds to go", number(to_go)]]} />
    <Chart name={`Epsilon by release, at delta ${delta}`} x_name="release" {...drawn} spans={false} />
    <p>Each release is taken to be like those before, and each further round to make one; a failed attempt may have made one, too.
      {job.privacy.accountant !== "exact" && ` The figures are those of Gaussian noise; the server's accountant is ${job.privacy.accountant}, so that they are an estimate.`}
      {limited > 0 && " A population's budget may end the job before its own."} The server decides by its own accountant.</p></section>;
}
