// The console: who is signed in, and which page the address names.
import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ask_ahead, Session, session as ask_session, sign_in, sign_in_ways, sign_out, when_session_ends } from "./api";
import { Audit } from "./audit";
import { Compare } from "./compare";
import { Job } from "./job";
import { first_questions } from "./job_rounds";
import { ModelPage } from "./model_page";
import { Models } from "./models";
import { Devices, Jobs, Overview, Privacy, Tokens } from "./pages";
import { Said } from "./parts";
import { Populations } from "./populations_page";
import { came_back, keep_place } from "./provider";
import { Run, Runs } from "./run";
import { Settings } from "./settings";
import { shown } from "./text";
import { forget_typed } from "./typed";
import { VerticalJob, VerticalJobs } from "./vertical";

const kPages: [string, string, string[]][] = [["", "Overview", []], ["jobs", "Jobs", []], ["vertical", "Vertical jobs", []], ["compare", "Compare", []], ["models", "Models", []], ["populations", "Populations", []], ["devices", "Devices", ["operator", "security_admin"]],
  ["privacy", "Privacy", []], ["audit", "Audit", ["security_admin"]], ["tokens", "Tokens", ["operator", "security_admin"]], ["settings", "Settings", []]];
const kRunPages: typeof kPages = [["", "Runs", []], ["compare", "Compare", []]];  // over a folder

function SignIn({ why, then }: { why: string; then: (session: Session) => void }) {
  const [error, set_error] = useState(why);
  const [provider, set_provider] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current!.focus(), []);
  useEffect(() => { sign_in_ways().then((ways) => set_provider(String(ways.provider?.name ?? "")), () => {}); }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    sign_in(field.current!.value).then(then, (e) => set_error(e.message));
    field.current!.value = "";
  };
  return <main class="sign-in"><h1>Coterie</h1><Said error={error} />
    {provider && <><p><a class="button" href="/console/login" onClick={keep_place}>Sign in with {shown(provider)}</a></p><p class="or">or with a token of this server</p></>}
    <form onSubmit={submit}>
    <label for="token">Admin token</label>
    <input ref={field} id="token" name="token" type="password" autocomplete="off" spellcheck={false} required />
    <button class={provider && "plain"}>{provider ? "Sign in with the token" : "Sign in"}</button></form>
    <p>On the server's machine it is in the file <code>admin-token</code> of the data directory.</p></main>;
}

function route() {
  const [page = "", ...parts] = location.hash.replace(/^#\/?/, "").split("/");
  try { return { page, id: parts[0] && decodeURIComponent(parts[0]), parts }; } catch { return { page: "", id: undefined, parts: [] }; }
}

// What of the address is another page, and not another view of the same.
const place_of = (page: string, parts: string[]) => [page, ...page === "compare" ? [] : parts.slice(0, page === "models" ? 2 : 1)].join("/");

function useRoute() {
  const [now, go] = useState(route());
  useEffect(() => {
    const changed = () => go(route());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return now;
}

function Page({ session, page, id, parts }: { session: Session; page: string; id?: string; parts: string[] }) {
  const has = (...roles: string[]) => roles.some((role) => session.roles.includes(role));
  const version = parseInt(parts[1] ?? "", 10), has_version = page === "models" && id !== undefined && id !== "-" && version >= 0;
  if (has_version) return <ModelPage key={`${id} ${version}`} id={id} version={version} open={parts[2] ?? ""} session={session} />;
  if (session.runs) return page === "jobs" && id ? <Run key={id} id={id} /> : page === "compare" ? <Compare parts={parts} /> : <Runs folder={session.runs} />;
  if (page === "jobs" && id) return <Job key={id} id={id} chosen={parts[1] ?? ""} session={session} />;
  if (page === "jobs") return <Jobs />;
  if (page === "vertical") return id ? <VerticalJob key={id} id={id} session={session} /> : <VerticalJobs />;
  if (page === "compare") return <Compare parts={parts} />;
  if (page === "models") return <Models id={id === "-" ? undefined : id} skip={Math.max(0, parseInt(parts[1] ?? "", 10) || 0)} session={session} />;
  if (page === "populations") return <Populations session={session} />;
  if (page === "devices") return <Devices />;
  if (page === "privacy") return <Privacy officer={has("privacy_officer")} />;
  if (page === "settings") return <Settings session={session} />;
  if (page === "audit") return <Audit />;
  if (page === "tokens") return <Tokens security={has("security_admin")} shut_out={has("operator", "security_admin")} />;
  return <Overview />;
}

function App() {
  const [session, set] = useState<Session | null | undefined>();
  const [why, set_why] = useState(kCameBack);
  const { page, id, parts } = useRoute();
  const main = useRef<HTMLElement>(null), place = place_of(page, parts), was = useRef("");
  // Who goes on to another page, or has signed in, is at the page's beginning, and not where a link was that is gone. A choice on a page leaves the focus alone.
  useLayoutEffect(() => {
    const here = session ? `page ${place}` : session === null ? "sign-in" : "";
    if (was.current && here !== was.current) main.current?.focus();
    was.current = here;
    const pages = session?.runs ? kRunPages : kPages;
    document.title = `${(pages.find(([path]) => path === page) ?? pages[0])[1]} – Coterie`;
  }, [place, session]);
  useEffect(() => {
    when_session_ends(() => set((old) => { if (old !== null) set_why("Your session has ended. Sign in again, and this page is as it was."); return null; }));
    ask_session().then(set, () => set(null));
    if (page === "jobs" && id) first_questions(`jobs/${encodeURIComponent(id)}`).forEach(ask_ahead);  // its questions need not wait for the session's answer
  }, []);
  if (session === undefined) return <p role="status">Asking the server …</p>;
  if (session === null) return <SignIn why={why} then={set} />;
  const stay = () => { set_why(""); forget_typed(); set(null); };
  const leave = () => sign_out().then((away) => away.startsWith("https://") ? location.assign(away) : stay(), stay);
  const skip = (event: Event) => { event.preventDefault(); main.current!.focus(); };
  return <><header><a class="skip" href="#main" onClick={skip}>Skip to the page</a><nav aria-label="Pages"><strong>Coterie</strong>
    {(session.runs ? kRunPages : kPages).filter(([, , roles]) => !roles.length || roles.some((r) => session.roles.includes(r))).map(([path, name]) => <a href={`#/${path}`} aria-current={path === page ? "page" : undefined}>{name}</a>)}</nav>
    <span>{session.runs ? `${shown(session.runs)}, read-only` : <>{shown(session.who)} <button class="plain" onClick={leave}>Sign out</button></>}</span></header>
    <main id="main" tabIndex={-1} ref={main}><Page session={session} page={page} id={id} parts={parts} /></main></>;
}

const kCameBack = came_back();  // before anything reads the address
render(<App />, document.getElementById("app")!);
