// Charts over a job's rounds that are done.
import { useMemo } from "preact/hooks";
import { Chart, chart_rows } from "./chart";
import { Curves, round_charts } from "./curves";
import type { Look } from "./fairness";

// `all`: the curves with every round, for whoever saves a chart; `judged`: what jobs that evaluate on devices say of the job's models.
export function RoundCharts({ curves, all, judged }: { curves: Curves; all: () => Promise<Curves>; judged?: { looks: Look[] }[] }) {
  const looks = judged?.length ? judged : undefined;  // that there are none is no reason to draw anew
  const charts = useMemo(() => round_charts(curves, looks), [curves, looks]);
  const whole = async (name: string) => chart_rows(round_charts(await all(), judged).find((one) => one.name === name)!);
  return charts.length === 0 ? null : <div class="charts">{charts.map(({ name, xs, lines }) =>
    <Chart key={name} name={name} xs={xs} lines={lines} count={curves.total} whole={() => whole(name)} />)}</div>;
}
