// What pages are made of: asking, tables, facts, buttons.
import { ComponentChildren, RefObject, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get, post } from "./api";
import { when_measured } from "./measured";
import { save_csv, save_file, shown } from "./text";

// What `ask` gives, again each `every` ms, and at once by refresh(): no answer in the place of that to a later question. A refusal is said beside what it
// gave before for the same `key`.
export function useAsked<T>(ask: () => Promise<T>, key: string, every = 0) {
  const [state, set] = useState<{ of?: string; value?: T; error?: string }>({});
  const { current: questions } = useRef({ asked: 0, answered: 0 }), run = useRef(() => {});
  run.current = () => {
    const mine = ++questions.asked;
    const answer = (next: (old: typeof state) => typeof state) => { if (mine > questions.answered) { questions.answered = mine; set(next); } };
    ask().then((value) => answer((old) => old.of === key && old.value === value && !old.error ? old : { of: key, value }),  // the same object: nothing is drawn anew
               (error) => answer((old) => ({ value: old.of === key ? old.value : undefined, of: key, error: error.message })));
  };
  useEffect(() => {
    run.current();
    const timer = every ? setInterval(() => document.hidden || run.current(), every) : 0;  // a hidden page keeps no session up
    return () => { questions.answered = questions.asked; clearInterval(timer); };
  }, [key]);
  useEffect(() => () => { run.current = () => {}; }, []);  // who has left the page asks nothing
  return { ...state.of === key ? state : {}, refresh: () => run.current() };
}

export function Said({ error, waits }: { error?: string; waits?: boolean }) {
  return error ? <p role="alert" class="error">{shown(error)}</p> : waits ? <p role="status">Asking the server …</p> : null;
}

// What a cell says, as the page would show it.
export function text_of(of: ComponentChildren): string {
  if (Array.isArray(of)) return of.map(text_of).join("");
  if (of === null || of === undefined || typeof of === "boolean") return "";
  if (typeof of !== "object") return String(of);
  const { children, text } = (of as VNode<any>).props;
  return typeof children === "undefined" && typeof text === "string" ? text : text_of(children);
}

// Whether a frame was painted since this is there.
function usePainted(): boolean {
  const [has_painted, set] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => set(true));
    return () => clearTimeout(timer);
  }, []);
  return has_painted;
}

const kRowsShown = 200;  // a page of thousands of cells does not scroll
const kRowsInSight = 20;  // a table has room for no more before it scrolls: the others come when these have been painted
// `whole`: asks for all rows, where there may be more than `rows`; those are then given as `rows`, too.
export function Table({ name, head, rows, whole }: { name: string; head: string[]; rows: ComponentChildren[][]; whole?: () => Promise<ComponentChildren[][]> }) {
  const [is_whole, show_all] = useState(false);
  const [error, set_error] = useState("");
  const has_painted = usePainted();
  const shown_rows = is_whole ? rows : rows.slice(0, kRowsShown), now = has_painted ? shown_rows : shown_rows.slice(0, kRowsInSight);
  const with_all = (then: (all: ComponentChildren[][]) => void) => whole ? whole().then((all) => { set_error(""); then(all); }, (e) => set_error(e.message)) : then(rows);
  return <section class={!is_whole && shown_rows.length > kRowsInSight ? "tall" : undefined}><div class="bar"><h2>{name}</h2>
    <button class="plain" disabled={!rows.length} aria-label={`CSV of ${name}`} onClick={() => with_all((all) => save_csv(name, head, all.map((row) => row.map(text_of))))}>CSV</button>
    {(whole || shown_rows.length < rows.length) && <button class="plain" onClick={() => with_all(() => show_all(true))}>Show all {whole ? "" : rows.length}</button>}<Said error={error} /></div>
    {rows.length === 0 ? <p>There are none.</p> :
      <div class="wide" tabIndex={0} role="region" aria-label={name}><table>
        <thead><tr>{head.map((text) => <th scope="col">{shown(text)}</th>)}</tr></thead>
        <tbody>{now.map((row) => <tr>{row.map((value) => <td>{typeof value === "string" ? shown(value) : value}</td>)}</tr>)}</tbody>
      </table></div>}</section>;
}

// In a table, where its beginning is enough to know it by: the rest is in the table's CSV, and in what is copied.
export const digest = (of: string) => <code class="digest">{of}</code>;

export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return <dl class="facts">{of.map(([name, value]) => <div><dt>{name}</dt><dd>{typeof value === "string" ? shown(value) : value}</dd></div>)}</dl>;
}

// A change that the server may refuse; `sure` is asked before it.
export function Act({ text, path, sure, then }: { text: string; path: string; sure?: string; then: () => void }) {
  const [error, set_error] = useState("");
  const act = () => (!sure || confirm(sure)) && post(path).then(() => { set_error(""); then(); }, (e) => set_error(e.message));
  return <span><button onClick={act}>{text}</button> <Said error={error} /></span>;
}

// A file of JSON that the server may not have any more: then it says so.
export function Save({ text, label, path, name }: { text: string; label: string; path: string; name: string }) {
  const [error, set_error] = useState("");
  const save = () => get(path).then((json) => { set_error(""); save_file(name, JSON.stringify(json), "application/json"); }, (e) => set_error(e.message));
  return <span><button class="plain" aria-label={label} onClick={save}>{text}</button> <Said error={error} /></span>;
}

// The width of an element, as it changes: what is drawn in it keeps the size of its letters.
export function useWidth(place: RefObject<HTMLElement>, least = 240): number {
  const [width, set] = useState(least);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => set(Math.max(least, place.current!.clientWidth)));
    watch.observe(place.current!);
    const forget = when_measured(place.current!, (now) => set(Math.max(least, now)));
    return () => { forget(); watch.disconnect(); };
  }, []);
  return width;
}

type Rows = unknown[][] | (() => unknown[][] | Promise<unknown[][]>);  // a function is called when somebody saves them
// Something with a name, and its numbers as CSV.
export function Figure({ name, head, rows, children }: { name: string; head: string[]; rows: Rows; children: ComponentChildren }) {
  const [error, set_error] = useState("");
  const save = async () => {
    try { save_csv(name, head, typeof rows === "function" ? await rows() : rows); set_error(""); } catch (e) { set_error((e as Error).message); }
  };
  return <figure><figcaption class="bar"><span>{shown(name)}</span>
    <button class="plain" aria-label={shown(`CSV of ${name}`)} onClick={save}>CSV</button><Said error={error} /></figcaption>{children}</figure>;
}

// A drawing, and what it says in words. One that `is_wide` is moved sideways where there is no room.
export function Drawing({ says, is_wide, children, ...figure }: { name: string; says: string; head: string[]; rows: Rows; is_wide?: boolean; children: ComponentChildren }) {
  const drawn = <div role="img" aria-label={shown(`${figure.name}: ${says}`)}>{children}</div>;
  return <Figure {...figure}>{is_wide ? <div class="sideways" tabIndex={0} role="region" aria-label={shown(`${figure.name}, to be moved sideways`)}>{drawn}</div> : drawn}</Figure>;
}
