// The audit log: what callers did, and whether its chain holds.
import { useState } from "preact/hooks";
import { get, list } from "./api";
import { Head, head_text, parse_head, Tampered, verify_audit } from "./audit_chain";
import { Said, Table, useAsked } from "./parts";
import { number, shown, time } from "./text";
import { useTyped } from "./typed";

export function Audit() {
  const { value, error } = useAsked(() => list("audit", "records"), "audit");
  if (!value) return <Said error={error} waits />;
  return <><h1>Audit</h1><Chain /><Table name="What callers did" head={["seq", "time", "who", "roles", "action", "target", "outcome", "request"]} rows={[...value].reverse().map((r) =>
    [String(r.seq), time(r.time), r.who, r.roles, r.action, r.target, r.outcome ? String(r.outcome) : "begun", r.request])} /></>;
}

type Result = { bad?: string; error?: string; good?: string; head?: Head };

// All records are read and checked here, from the first that the server has.
function Chain() {
  const [noted, note] = useTyped("audit head");
  const [is_busy, set_busy] = useState(false);
  const [so_far, tell] = useState(0);
  const [result, set] = useState<Result>({});
  const verify = (event: Event) => {
    event.preventDefault();
    const head = noted.trim() ? parse_head(noted) : null;
    if (noted.trim() && !head) return set({ error: "A head is NUMBER:DIGEST, as this page or coterie audit verify has shown it." });
    set_busy(true);
    set({});
    tell(0);
    verify_audit(get, head, (reached) => tell(reached.seq)).then(({ begin, head: reached }) => set({ head: reached,
      good: `${number(reached.seq - begin.seq)} records, one behind the other as they were written${head ? ", and the head that was noted is among them" : ""}.` +
        (begin.seq > 0 ? ` The server has the seal of record ${begin.seq} and none before it.` : "") }),
    (problem) => set(problem instanceof Tampered ? { bad: problem.message } : { error: problem.message })).finally(() => set_busy(false));
  };
  return <section><div class="bar"><h2>Chain</h2></div>
    <form class="verify" onSubmit={verify}><label>Head noted before, if there is one <input value={noted} spellcheck={false} autocomplete="off" onInput={(event) => note((event.target as HTMLInputElement).value)} /></label>
      <button disabled={is_busy}>Verify all records</button></form>
    {is_busy && <p role="status">Checked up to record {number(so_far)} …</p>}
    {result.good && <p role="status" class="now holds"><strong>The chain holds.</strong> {result.good}</p>}
    {result.head && <p>Note this head elsewhere and check against it next time, as who writes the whole log anew makes a chain, too: <code class="long">{head_text(result.head)}</code></p>}
    {result.bad && <p role="alert" class="now broken"><strong>The chain is broken:</strong> {shown(result.bad)}.</p>}
    <Said error={result.error} /></section>;
}
