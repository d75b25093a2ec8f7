// How wide elements are that have just come. Each question makes the browser lay the page out if it was changed since the one before; so
// all are asked together, before anybody draws into one. Nothing is painted in between.
type Asked = { of: Element; then: (width: number) => void };
let asked: Asked[] = [];

// Calls back once, before the next frame, unless the function that this gives was called before.
export function when_measured(of: Element, then: (width: number) => void): () => void {
  const one = { of, then };
  if (asked.push(one) === 1) queueMicrotask(answer);
  return () => { one.then = () => {}; };
}

function answer(): void {
  const all = asked, widths = all.map(({ of }) => of.clientWidth);
  asked = [];
  all.forEach(({ then }, i) => then(widths[i]));
}
