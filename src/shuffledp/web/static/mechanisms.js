// The form of a mechanism, made from what the mechanisms say about themselves, and its text.

let all = [];

export async function load(ask) {
  ({ mechanisms: all } = await ask("mechanisms", {}));
  return all;
}

// "krr(k=10, epsilon0=2)" as name and values; null for what only a text can say, as compositions.
export function read(text, known) {
  const found = text.trim().match(/^([a-z_0-9]+)\(([^()[\]]*)\)$/);
  const entry = found && known.find((m) => m.name === found[1]);
  if (!entry) return null;
  const values = {};
  const names = entry.parameters.map((p) => p.name);
  for (const [i, part] of found[2].split(",").map((s) => s.trim()).filter(Boolean).entries()) {
    const [, key, value] = part.match(/^(?:(\w+)\s*=\s*)?(.*)$/);
    const name = key ?? names[i];
    if (!names.includes(name)) return null;
    values[name] = value;
  }
  return { entry, values };
}

export function write(entry, values) {
  const parts = entry.parameters
    .filter((p) => (values[p.name] ?? "") !== "")
    .map((p) => `${p.name}=${values[p.name]}`);
  return `${entry.name}(${parts.join(", ")})`;
}

export const initial = (entry) => read(entry.example ?? "", [entry])?.values ?? {};

// The same mechanism as a family: epsilon0 is what varies.
export function withoutLevel(text) {
  const found = read(text, all);
  if (found) return write(found.entry, { ...found.values, epsilon0: "" });
  return text.replace(/,\s*epsilon0\s*=\s*[^,()]+/g, "").replace(/epsilon0\s*=\s*[^,()]+(,\s*)?/g, "");
}
