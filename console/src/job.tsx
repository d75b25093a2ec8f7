// One job as it goes: its rounds, and what the server tells of it meanwhile.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Json, list, Session } from "./api";
import { Chart } from "./chart";
import { replay } from "./event_replay";
import { Forecast } from "./forecast_figure";
import { lineage } from "./lineage";
import { RollBack, Versions } from "./models";
import { attempts, joined, Told, told_of } from "./phases";
import { Act, Facts, Said, Table, useAsked } from "./parts";
import { number, percent, shown, time } from "./text";
import { Funnel, Timeline } from "./timeline";

const kAttemptsShown = 20;

const kEvents = ["job_state_changed", "job_completed", "job_failed", "model_released", "round_opened", "round_collecting",
  "round_extended", "updates_accepted", "round_frozen", "round_finalizing", "finalize_failed", "round_failed", "round_done"];

// What happens to the job, from the server's stream, which begins again behind the last event by itself. `told`: what happened to its
// rounds before that, too.
function useEvents(job: string, happened: (kind: string) => void) {
  const [now, set_now] = useState<Json>({});
  const [told, set_told] = useState<Told[]>([]);
  const [link, set_link] = useState("connecting");
  useEffect(() => {
    const path = `/admin/v1/jobs/${encodeURIComponent(job)}/events`;
    const stream = new EventSource(path);
    const stop = new AbortController();
    let is_begun = false;
    const begin = (event: MessageEvent) => {  // the first id names the log, whose past is asked for apart
      if (is_begun || !event.lastEventId) return;
      is_begun = true;
      replay(path, event.lastEventId, stop.signal).then((past) => stop.signal.aborted || set_told((old) => joined(past, old)));
    };
    const read = (event: MessageEvent) => { try { return JSON.parse(event.data); } catch { return {}; } };
    stream.onopen = () => set_link("live");
    stream.onerror = () => {
      const is_closed = stream.readyState === EventSource.CLOSED;  // refused: asking says why, also that the session has ended
      set_link(is_closed ? "not live: reload the page to try again" : "connecting again");
      if (is_closed) happened("closed");
    };
    stream.addEventListener("round", (e) => { begin(e as MessageEvent); set_now(read(e as MessageEvent)); });
    stream.addEventListener("over", (e) => { begin(e as MessageEvent); stream.close(); set_link("the job is over"); happened("over"); });
    for (const kind of kEvents) stream.addEventListener(kind, (e) => {
      if (kind === "updates_accepted") { const told = read(e as MessageEvent); set_now((old) => ({ ...old, ...told })); return; }
      const one = told_of(kind, read(e as MessageEvent));
      if (one) set_told((old) => joined(old, [one]));
      happened(kind);
    });
    return () => { stop.abort(); stream.close(); };
  }, [job]);
  return { now, link, told };
}

export function Job({ id, session }: { id: string; session: Session }) {
  const path = `jobs/${encodeURIComponent(id)}`;
  const may = (...roles: string[]) => roles.some((role) => session.roles.includes(role));
  const asked = useAsked(async () => ({ job: await get(path), rounds: await list(`${path}/rounds`, "rounds", 2000, "before"),
    models: await list(`${path}/models`, "models") }), id);
  const soon = useRef(0);
  const { now, link, told } = useEvents(id, () => {
    clearTimeout(soon.current);
    soon.current = setTimeout(asked.refresh, 150) as unknown as number;
  });
  if (!asked.value) return <Said error={asked.error} waits />;
  const { job, rounds, models } = asked.value;
  const done = rounds.filter((r) => r.state === "done").reverse();
  const xs = done.map((r) => r.number as number);
  const of = (read: (r: Json) => unknown) => done.map((r) => { const v = read(r); return typeof v === "number" ? v : null; });
  const privacy = job.privacy;
  return <>
    <h1>{shown(job.spec.name)}</h1><Said error={asked.error} />
    <Facts of={[["job", id], ["state", job.state + (job.reason ? `: ${job.reason}` : "")], ["population", job.spec.population ?? "default"],
      ["rounds", `${job.rounds_done} of ${job.spec.rounds?.count ?? 10}`], ["created", time(job.created)], ["privacy level", job.spec.privacy?.level ?? "active"],
      ["released model", job.released ? `version ${job.released.version}` : "none"],
      ...(privacy ? [["epsilon", `${privacy.epsilon === null ? "unbounded" : number(privacy.epsilon)} of ${number(privacy.epsilon_budget)} at delta ${privacy.delta}`]] as [string, string][] : [])]} />
    {privacy && privacy.epsilon !== null && <p><label>epsilon spent <meter min={0} max={privacy.epsilon_budget} value={privacy.epsilon} /></label></p>}
    <p class="bar">
      {job.state === "running" && may("operator", "ml_engineer", "privacy_officer") && <Act text="Pause" path={`${path}:pause`} then={asked.refresh} />}
      {job.state === "paused" && may("operator", "ml_engineer") && <Act text="Resume" path={`${path}:resume`} then={asked.refresh} />}
      {["running", "paused"].includes(job.state) && may("operator", "ml_engineer", "privacy_officer") &&
        <Act text="Cancel" path={`${path}:cancel`} sure="End this job for good?" then={asked.refresh} />}
      <a href={`#/compare/${encodeURIComponent(id)}`}>Compare</a>
    </p>
    <p role="status" class="now">{link}{now.round !== undefined && `: round ${now.round}, attempt ${now.attempt}, ${shown(now.state ?? "")}, ${number(now.accepted)} accepted of ${number(now.selected)} drawn`}
      {now.waiting !== undefined && `; ${number(now.waiting)} devices wait`}</p>
    {xs.length > 0 && <div class="charts">
      <Chart name="Loss" xs={xs} lines={[["held out", of((r) => r.model?.evaluation_loss)], ["on devices", of((r) => r.train_loss)]]} />
      <Chart name="Accuracy" xs={xs} lines={[["held out", of((r) => r.model?.evaluation_accuracy)], ["on devices", of((r) => r.train_accuracy)]]} />
      <Chart name="Updates accepted" xs={xs} lines={[["accepted", of((r) => r.accepted)]]} />
      <Chart name="Seconds" xs={xs} lines={[["round", of((r) => r.seconds)], ["training", of((r) => r.train_seconds)]]} /></div>}
    {rounds.length > 0 && <div class="charts"><Funnel round={rounds[0]} waiting={now.waiting} />
      <div><Timeline attempts={attempts(rounds.slice(0, kAttemptsShown), told, Date.now())} /></div></div>}
    <Forecast job={job} />
    <Table name="Rounds" head={["round", "attempt", "state", "drawn", "accepted", "goal", "seconds", "loss", "accuracy", "opened", "reason"]}
      rows={rounds.map((r) => [String(r.number), String(r.attempt), r.state, number(r.selected), number(r.accepted), number(r.goal_count),
        number(r.seconds, 2), number(r.model?.evaluation_loss), percent(r.model?.evaluation_accuracy), time(r.opened), r.reason ?? ""])} />
    <p class="bar"><RollBack job={job} session={session} then={asked.refresh} /> <a href={`#/models/${encodeURIComponent(id)}`}>Models alone</a></p>
    <Versions versions={lineage([job], [models], [rounds])} session={session} then={asked.refresh} />
  </>;
}
