// Requests to the server that the page came from, as the session's caller. Paths and JSON are those of docs/openapi.json.
export type Json = Record<string, any>;
export type Session = { who: string; roles: string[]; tenant: string; expires?: string; csrf_token: string;
  runs?: string };  // the name of a folder of runs that the page is over (`coterie console`): nobody signs in there

export class Refused extends Error {
  constructor(readonly status: number, text: string) { super(text); }
}

let csrf = "";
let ended: () => void = () => {};
export const when_session_ends = (then: () => void) => { ended = then; };

async function send(method: string, path: string, headers: Record<string, string> = {}): Promise<Response> {
  const answer = await fetch(path, { method, headers, credentials: "same-origin", cache: "no-store" });
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  if (answer.status === 401) { localStorage.removeItem(kMark); ended(); }
  throw new Refused(answer.status, String(problem.detail ?? `the server answered ${answer.status}`));
}

// Asked before anybody wanted it: the first get() of the path has the answer.
const ahead = new Map<string, Promise<Json>>();
const ask = async (path: string): Promise<Json> => (await send("GET", "/admin/v1/" + path)).json();
export function ask_ahead(path: string): void {
  if (!localStorage.getItem(kMark)) return;
  const answer = ask(path);
  answer.catch(() => ahead.delete(path));  // whoever wants it asks, and hears why
  ahead.set(path, answer);
}
export async function get(path: string): Promise<Json> {
  const answer = ahead.get(path);
  ahead.delete(path);
  return answer ?? ask(path);
}
export async function post(path: string): Promise<void> { await send("POST", "/admin/v1/" + path, { "Coterie-Csrf": csrf }); }

const kPage = 1000;  // the most that the server tells at a time
// All pages of a list, up to `most` records, behind the record that `from` names; none: from the first on.
export async function list(path: string, key: string, most = 2000, cursor = "after", from: string | number = ""): Promise<Json[]> {
  const all: Json[] = [];
  for (let next: string | number | undefined = from; next !== undefined && all.length < most;) {
    const query = `${path.includes("?") ? "&" : "?"}limit=${kPage}${next === "" ? "" : `&${cursor}=${encodeURIComponent(next)}`}`;
    const page = await get(path + query);
    all.push(...page[key]);
    next = page["next_" + cursor];
  }
  return all;
}

// The cookie is not for scripts: a mark says that this browser signed in, so that nobody else asks for a session and is refused.
const kMark = "coterie-signed-in";
export const mark_signed_in = () => localStorage.setItem(kMark, "1");
const keep = (session: Session) => { csrf = session.csrf_token; mark_signed_in(); return session; };
export async function session(): Promise<Session | null> {
  if (localStorage.getItem(kMark)) return keep(await get("session") as Session);
  const { runs } = await sign_in_ways();
  return runs ? { who: "", roles: [], tenant: "*", csrf_token: "", runs: String(runs.folder) } : null;
}
export const sign_in_ways = async (): Promise<Json> => (await send("GET", "/console/sign-in-ways")).json();
export async function sign_in(token: string): Promise<Session> {
  const answer = await send("POST", "/admin/v1/session", { Authorization: `Bearer ${token.trim()}` }).catch((error) => {
    throw error.status === 401 ? new Refused(401, "The server knows no such token, or its time is over.") : error;
  });
  return keep(await answer.json());
}
// Where the browser goes to sign out at the identity provider, too; empty: nowhere.
export async function sign_out(): Promise<string> {
  localStorage.removeItem(kMark);
  const answer = await send("DELETE", "/admin/v1/session", { "Coterie-Csrf": csrf });
  return answer.status === 204 ? "" : String((await answer.json()).end_session_url);
}
