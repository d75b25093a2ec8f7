// Sign-in at an identity provider: a navigation away, and back to where the page was. The server does all of it; what is kept here is
// the page's place alone, and what was typed there.
import { mark_signed_in } from "./api";
import { bring_typed_back, keep_typed } from "./typed";

const kPlace = "coterie-place";
const kFailed: Record<string, string> = {
  not_begun: "This sign-in was not begun in this browser, or has ended. Begin again.",
  expired: "The sign-in took longer than 10 minutes. Begin again.",
  declined: "The sign-in was declined at the provider.",
  provider: "The provider did not sign you in. The server's log says why.",
  token: "The server does not take what the provider said of you. Begin again; if it stays so, the server's log says why.",
  no_role: "You are signed in at the provider, but no role of yours may use this console. Ask whoever gives roles there.",
  away: "The provider does not answer. Try again, or sign in with a token.",
  busy: "Too many sign in at a time. Try again in a moment.",
  stands_by: "This server stands by: sign in at the one that leads.",
};

export const keep_place = () => { sessionStorage.setItem(kPlace, location.hash); keep_typed(); };

// What came of it, where the address says that the browser is back: the address is as it was before. Empty: nothing to say.
export function came_back(): string {
  const [what, reason = ""] = location.hash.replace(/^#\/?/, "").split("/");
  if (what !== "signed-in" && what !== "sign-in-failed") return "";
  const place = sessionStorage.getItem(kPlace) ?? "";
  sessionStorage.removeItem(kPlace);
  bring_typed_back();
  history.replaceState(null, "", "/" + place);
  if (what === "signed-in") { mark_signed_in(); return ""; }
  return Object.hasOwn(kFailed, reason) ? kFailed[reason] : kFailed.provider;
}
