// Texts of devices, models and operators as a page may show them: control and direction characters are made visible.
const kHidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
export const shown = (text: unknown): string =>
  String(text ?? "").replace(kHidden, (c) => `\\u{${c.charCodeAt(0).toString(16)}}`);
// A format is made once for each count of digits: toLocaleString() makes one a call, which is most of a page with thousands of numbers.
const formats = new Map<number, Intl.NumberFormat>();
function format_of(digits: number): Intl.NumberFormat {
  let format = formats.get(digits);
  if (!format) formats.set(digits, format = new Intl.NumberFormat("en", { maximumFractionDigits: digits }));
  return format;
}
export const number = (value: unknown, digits = 4): string => typeof value === "number" ? format_of(digits).format(value) : "–";
export const percent = (value: unknown): string => typeof value === "number" ? `${(value * 100).toFixed(1)} %` : "–";
export const time = (value: unknown): string => value ? shown(value).replace("T", " ").replace(/\.\d+Z$/, "Z") : "–";

// A cell that a spreadsheet would run gets a quote before it.
const cell = (value: unknown): string => {
  const text = shown(value);
  return `"${(/^[=+\-@]/.test(text) && typeof value !== "number" ? "'" : "") + text.replace(/"/g, '""')}"`;
};
export function save_csv(name: string, head: string[], rows: unknown[][]): void {
  save_file(name + ".csv", [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n", "text/csv");
}
export function save_file(name: string, text: string, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name.replace(/[^\w.-]/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
