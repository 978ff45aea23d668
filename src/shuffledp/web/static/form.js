// The form of a mechanism, made from its parameters, and sliders.

import { $, element } from "./dom.js";
import { initial, read, write } from "./mechanisms.js";
import { short } from "./numbers.js";
import { CONDITIONS, FIELDS, START, state, TABS } from "./state.js";
import { NAMES, PARAMETERS } from "./words.js";

const SLIDERS = {
  n: { text: (v) => String(Math.round(Number(short(10 ** v)))) },
  delta: { text: (v) => short(10 ** v) },
};
let known = [], current = null, changed = () => {};

const slide = (name) => { if (Number(state[name]) > 0) $(`${name}-slider`).value = String(Math.log10(Number(state[name]))); };

// Show the question in the form, and the tab it is about.
export function fill() {
  for (const name of FIELDS) $(name).value = state[name];
  $("plan-target").value = state.target;
  Object.keys(SLIDERS).forEach(slide);
  const found = read(state.mechanism, known);
  $("kind").value = found ? found.entry.name : "";
  parametersOf(found);
  for (const tab of TABS) {
    const chosen = tab === state.tab;
    $(`panel-${tab}`).hidden = !chosen;
    $(`tab-${tab}`).setAttribute("aria-selected", String(chosen));
    $(`tab-${tab}`).tabIndex = chosen ? 0 : -1;
  }
  sayWhatIsSet();
}

// What is not as usual is read off the folded group, and what is looked for is no part of the question.
function sayWhatIsSet() {
  const set = CONDITIONS.filter((name) => state[name] !== START[name]);
  const said = (name) => $(name).selectedOptions?.[0].text ?? `${$(name).labels[0].textContent.toLowerCase()} ${state[name]}`;
  $("setting-now").textContent = set.length ? set.map(said).join(" · ") : "one round, nobody corrupted";
  $("question").dataset.open = state.tab === "find" ? state.want : "";
}

function parametersOf(found) {
  const name = found?.entry.name ?? "";
  $("kind-meaning").textContent = found ? found.entry.meaning : "A composition, or a text that is still being written.";
  if (name !== current) {
    current = name;
    $("parameters").replaceChildren(...(found?.entry.parameters ?? []).filter((p) => p.name !== "path").map(parameterField));
  }
  for (const { name: key } of found?.entry.parameters ?? []) {
    const input = $(`p-${key}`), value = found.values[key] ?? "";
    if (input && document.activeElement !== input) input.value = value;
    if (key === "epsilon0" && $("p-epsilon0-slider")) $("p-epsilon0-slider").value = String(Math.log10(Number(value)));
  }
}

function parameterField(parameter) {
  const { name, required, default: usual, choices } = parameter;
  const field = element("div", "", { class: "field", "data-field": `p-${name}` });
  field.append(element("label", required ? name : `${name} (optional)`, { for: `p-${name}` }));
  const named = { id: `p-${name}`, "aria-describedby": `p-${name}-help p-${name}-error` };
  const input = choices ? element("select", "", named)
    : element("input", "", { ...named, autocomplete: "off", placeholder: usual === null ? "" : String(usual) });
  const notes = [element("p", PARAMETERS[name] ?? "", { id: `p-${name}-help`, class: "hint" }), element("p", "", { id: `p-${name}-error`, class: "error", role: "alert" })];
  input.append(...(choices ?? []).map((c) => element("option", String(c), { value: c === usual ? "" : literal(c) })));
  input.addEventListener("input", rewrite);
  if (name !== "epsilon0") { field.append(input, ...notes); return field; }
  const slider = element("input", "", { id: "p-epsilon0-slider", type: "range", min: "-1.3", max: "1", step: "0.01", "aria-label": "epsilon0, logarithmic" });
  slider.addEventListener("input", () => { input.value = short(10 ** Number(slider.value)); rewrite(); });
  const pair = element("div", "", { class: "pair" });
  pair.append(slider, input);
  field.append(pair, ...notes);
  return field;
}

const literal = (value) => (typeof value === "string" ? `'${value}'` : String(value));

function rewrite() {
  const entry = known.find((m) => m.name === current);
  const values = Object.fromEntries(entry.parameters.map((p) => [p.name, $(`p-${p.name}`)?.value.trim() ?? ""]));
  state.mechanism = write(entry, values);
  $("mechanism").value = state.mechanism;
  if (Number(values.epsilon0) > 0) $("p-epsilon0-slider").value = String(Math.log10(Number(values.epsilon0)));
  changed();
}

// Make the form of these mechanisms; whatever is changed is said.
export function start(mechanisms, whenChanged) {
  [known, changed] = [mechanisms, () => { sayWhatIsSet(); whenChanged(); }];
  $("kind").append(element("option", "(as text)", { value: "" }), ...known.map((m) => element("option", m.name in NAMES ? `${NAMES[m.name]} (${m.name})` : m.name, { value: m.name })));
  $("question").addEventListener("submit", (event) => event.preventDefault());
  $("kind").addEventListener("change", () => {
    const entry = known.find((m) => m.name === $("kind").value);
    if (!entry) return;
    state.mechanism = read(entry.example ?? "", [entry]) ? write(entry, initial(entry)) : entry.example;
    fill();
    changed();
  });
  for (const name of FIELDS) $(name).addEventListener("input", () => {
    state[name] = $(name).value.trim();
    if (name in SLIDERS) slide(name);
    if (name === "mechanism") { const found = read(state.mechanism, known); $("kind").value = found?.entry.name ?? ""; parametersOf(found); }
    changed();
  });
  for (const [one, other] of [["target", "plan-target"], ["plan-target", "target"]]) $(one).addEventListener("input", () => {
    $(other).value = state.target = $(one).value.trim();
    if (one !== "target") changed();
  });
  for (const [name, { text }] of Object.entries(SLIDERS)) $(`${name}-slider`).addEventListener("input", (event) => {
    $(name).value = state[name] = text(Number(event.target.value));
    changed();
  });
}
