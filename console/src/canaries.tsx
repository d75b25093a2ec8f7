// Canaries of models: versions that a share of the devices has, as they are heard of.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Json, Session } from "./api";
import { changed, job_of, kWithCanaries } from "./canary_events";
import { Act, Said, Table, useAsked } from "./parts";
import { number, percent, shown, time } from "./text";

const kSoonMs = 150, kPollMs = 15_000;  // what an event leaves out is asked for; without a stream all is
const path_of = (job: string) => `jobs/${encodeURIComponent(job)}/canaries`;
const version_of = (of: Json) => `${of.job} version ${of.version}`;

// `jobs`: whose models are shown; `released` is called when another version of one is everybody's. The stream is of all jobs, as that of a job ends with it, and canaries begin then.
export function Canaries({ jobs, session, released }: { jobs: Json[]; session: Session; released: () => void }) {
  const of = jobs.slice(0, kWithCanaries).map((job) => job.id as string);
  const [link, set_link] = useState("connecting");
  const [told, tell] = useState<Json[] | null>(null);
  const asked = useAsked(async () => { const all = (await Promise.all(of.map((id) => get(path_of(id))))).flatMap((one) => one.canaries as Json[]); tell(null); return all; },
    `canaries ${of.join(" ")}`, link === "live" ? 0 : kPollMs);
  const known = useRef<Json[]>([]);
  known.current = told ?? asked.value ?? [];
  useEffect(() => {
    const stream = new EventSource("/admin/v1/events");
    let soon = 0;
    const again = () => { clearTimeout(soon); soon = setTimeout(asked.refresh, kSoonMs) as unknown as number; };
    stream.onopen = () => { set_link("live"); again(); };
    stream.onerror = () => {  // refused, as there are too many streams, or cut off
      set_link(stream.readyState === EventSource.CLOSED ? "asked again every 15 s" : "connecting again");
      again();
    };
    stream.addEventListener("events_missed", again);
    stream.addEventListener("canary_changed", (event) => {
      const after = changed(known.current, of, (event as MessageEvent).data);
      if (after === known.current) return;
      tell(after);
      again();
    });
    stream.addEventListener("model_released", (event) => of.includes(job_of((event as MessageEvent).data)) && released());
    return () => { clearTimeout(soon); stream.close(); };
  }, [of.join(" ")]);
  const may = session.roles.some((role) => ["operator", "ml_engineer"].includes(role));
  return <><Said error={asked.error} /><p role="status" class="now">Canaries: {link}</p>
    <Table name="Canaries" head={["canary", "version", "before", "devices", "state", "heard of", "mean harm", "p harmful", "p harmless", "begun", "ended", "reason", "use"]}
      rows={known.current.map((one) => [one.id, version_of(one), one.base ? version_of(one.base) : "–", one.percent === undefined ? "–" : `${number(one.percent)} %`,
        String(one.state).replace("_", " "), number(one.heard), percent(one.mean_harm), number(one.p_harmful), number(one.p_harmless), time(one.created), time(one.ended), one.reason ?? "",
        one.state === "running" && may ? <Act text="End" path={`${path_of(one.job)}/${encodeURIComponent(one.id)}:end`} sure={`Give everybody the version before ${shown(version_of(one))} again?`} then={asked.refresh} /> : ""])} /></>;
}
