// What is typed into a page's fields, kept while the page is open: a session that ends loses none of it, and neither does a sign-in at a
// provider, which leads away and back. Signing out forgets it.
import { useState } from "preact/hooks";

const kAway = "coterie-typed", kFieldsMax = 16;
const texts = new Map<string, string>();

export function useTyped(field: string): [string, (text: string) => void] {
  const [text, set] = useState(texts.get(field) ?? "");
  return [text, (next) => { texts.set(field, next); set(next); }];
}

export const forget_typed = () => texts.clear();
export const keep_typed = () => sessionStorage.setItem(kAway, JSON.stringify([...texts]));
// What keep_typed() kept, once.
export function bring_typed_back(): void {
  const kept = sessionStorage.getItem(kAway);
  sessionStorage.removeItem(kAway);
  try {
    for (const [field, text] of JSON.parse(kept ?? "[]").slice(0, kFieldsMax)) texts.set(String(field), String(text));
  } catch { /* not ours */ }
}
