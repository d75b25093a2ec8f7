// One version of a model: where it comes from and where it went, what it computes, and what its values are like.
import { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { get, Json, list, Session } from "./api";
import { Explanations } from "./explanations";
import { Histograms } from "./histograms";
import { Lineage } from "./lineage_view";
import { counted, openable } from "./model_boxes";
import { ModelGraph } from "./model_graph";
import { model_address, size, Uses } from "./models";
import { Facts, Said, useAsked } from "./parts";
import { number, percent, shown, time } from "./text";

const kRoundsAsked = 2000;
// Blocks as an address has them: "1,5".
const numbers_in = (text: string): number[] => text.split(",").filter((one) => /^\d{1,5}$/.test(one)).map(Number);

function Heading({ job, version }: { job: Json; version: number }) { return <h1>{shown(job.spec.name)}, version {version}</h1>; }

export function ModelPage({ id, version, open, session }: { id: string; version: number; open: string; session: Session }) {
  const job_path = `jobs/${encodeURIComponent(id)}`, path = `${job_path}/models/${version}`;
  const asked = useAsked(async () => {
    const [job, model, rounds] = await Promise.all([get(job_path), get(path), list(`${job_path}/rounds${session.runs ? "" : "?state=done"}`, "rounds", kRoundsAsked, "before")]);
    return { job, model, round: rounds.find((one) => one.model?.version === version) };
  }, path);
  const graph = useAsked(() => get(`${path}/graph`), `${path}/graph`);
  const [blocks, set_blocks] = useState(numbers_in(open));
  const opened = (next: number[]) => {
    set_blocks(next);
    history.replaceState(null, "", `${model_address(id, version)}${next.length ? `/${next.join()}` : ""}`);
  };
  if (!asked.value) return <><h1>Model</h1><Said error={asked.error} waits /></>;
  const { job, model, round } = asked.value;
  const may_see_values = !!session.runs || session.roles.includes("ml_engineer");
  const facts: [string, ComponentChildren][] = [["version", String(version)], ["state", model.released ? "released" : "–"], ["loss", number(model.evaluation_loss ?? round?.model?.evaluation_loss)],
    ["accuracy", percent(model.evaluation_accuracy ?? round?.model?.evaluation_accuracy)], ["size", size(model.bytes)], ["created", time(model.created)], ["digest", model.digest ?? "–"],
    ...(graph.value ? [["ops", number(graph.value.ops.length + graph.value.ops_left_out)], ["parameters", number(graph.value.values)]] as [string, string][] : [])];
  return <><Heading job={job} version={version} /><Said error={asked.error} />
    <Facts of={facts} />
    {!session.runs && <p class="bar"><Uses version={{ job, model }} session={session} then={asked.refresh} /></p>}
    <Lineage job={job} model={model} round={round} session={session} />
    <h2 class="part">What it computes</h2>
    <Said error={graph.error} waits={!graph.value} />
    {graph.value && <ModelGraph graph={graph.value} open={openable(graph.value, blocks)} opened={opened} />}
    {graph.value && <p><small>{counted(graph.value.blocks.length, "block")}; the address has those that are open.</small></p>}
    <h2 class="part">What its values are like</h2>
    {may_see_values ? <Histograms path={path} /> : <p>They are for an ml_engineer.</p>}
    <h2 class="part">What its answers come from</h2>
    {session.runs ? <Explanations path={path} digest={model.digest} /> :
      <p>Pictures are made where the examples are: <code>coterie model explain</code> with <code>--run DIR</code> leaves them in a run's folder, and <code>coterie console --run DIR</code> shows them here.</p>}</>;
}
