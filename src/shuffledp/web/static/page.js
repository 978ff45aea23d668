// The page: one question, five views, and the address bar that holds it all.

import { ask, Refused } from "./ask.js";
import { svg } from "./chart.js";
import { asCommand, asPython } from "./copies.js";
import { $, element } from "./dom.js";
import { initial, load, read, withoutLevel, write } from "./mechanisms.js";
import { short } from "./numbers.js";
import { joined, partsOf, RANGES } from "./parts.js";
import { showAnswer, showCurve, showPlan, showPublished, showRounds, showTiers } from "./show.js";
import { FIELDS, groupsOf, isSum, leftOut, START, state, TABS } from "./state.js";

let known = [], current = null, shown = {};

// ---- asking ------------------------------------------------------------------------------------

const crowd = () => ({ n: state.n, corrupted: state.corrupted, view: state.view });

async function showParts(place, question, range, signal) {
  const parts = partsOf(range, question.against), found = [];
  shown = { chart: place };
  await Promise.all(parts.map(async (part, i) => {
    found[i] = await ask("curve", { ...question, ...part }, signal);
    const done = found.filter(Boolean);
    if (done.length < parts.length) $("busy").textContent = `${done.length} of ${parts.length} parts`;
    const answer = joined(done);
    Object.assign(shown, { answer, head: ["label", "kind", answer.against, answer.quantity], table: rowsOf(answer) });
    await showCurve(place, answer);
  }));
}

async function published(signal) {
  const { bounds } = await ask("compare", { mechanism: state.mechanism, ...crowd(), delta: state.delta }, signal);
  showPublished(bounds, refresh);
  return bounds;
}

const VIEWS = {
  async answer(signal) {
    const base = { mechanism: state.mechanism, ...crowd() };
    const [answer, chance] = await Promise.all([
      ask("epsilon", { ...base, delta: state.delta }, signal),
      ask("delta", { ...base, epsilon: "0" }, signal),
    ]);
    showAnswer(answer, chance);
    shown = { answer };
    const bounds = await published(signal);
    Object.assign(shown, { head: ["bound", "title", "kind", "epsilon"], table: bounds.map((b) => [b.bound, b.title, b.kind, b.epsilon ?? ""]) });
  },
  async curve(signal) {
    const { against } = state;
    await showParts("curve-chart", {
      mechanisms: against === "epsilon0" ? withoutLevel(state.mechanism) : state.mechanism, against, ...crowd(),
      n: against === "users" ? "" : state.n, delta: ["users", "epsilon0", "rounds"].includes(against) ? state.delta : "",
      bounds: ["guarantee", "lower_bound", ...state.bounds], rtol: against === "rounds" ? "1e-2" : "",
    }, RANGES[against], signal);
    if (!$("bounds").querySelector("input")) await published(signal);
  },
  async plan(signal) {
    const answer = await ask("plan", {
      task: state.task, ...crowd(), delta: state.delta, epsilon: state.target, domain: state.domain,
    }, signal);
    showPlan(answer, (mechanism) => { state.mechanism = mechanism; open("answer"); });
    shown = { answer, head: ["name", "mechanism", "epsilon0", "error"], table: answer.options.map((o) => [o.name, o.mechanism, o.epsilon0, o.error]) };
  },
  async rounds(signal) {
    const base = { mechanism: state.mechanism, ...crowd(), delta: state.delta };
    const answer = await ask("rounds", { ...base, rounds: state.times }, signal);
    showRounds(answer);
    shown = { answer };
    const fit = await ask("rounds", { ...base, epsilon: state.budget }, signal).catch((error) => {
      if (error instanceof Refused) return inField("budget", error);
      throw error;
    });
    $("rounds-fit").textContent = fit
      ? `${fit.times.toLocaleString("en")} such rounds fit into a budget of ε = ${state.budget}.` : "";
    const most = Math.min(Math.max(16, 4 * answer.times), 1e9);
    await showParts("rounds-chart", {
      mechanisms: state.mechanism, ...crowd(), delta: state.delta,
      against: "rounds", bounds: ["guarantee", "lower_bound"], rtol: "1e-2",
    }, [1, most], signal);
    shown.answer = answer;
  },
  async tiers(signal) {
    const answer = await ask("tiers", { groups: groupsOf(state.groups), delta: state.delta, corrupted: state.corrupted }, signal);
    showTiers(answer);
    shown = { answer, head: ["mechanism", "n", "epsilon", "lower_bound"], table: answer.tiers.map((t) => [t.mechanism, t.n, t.guarantee.upper ?? "", t.lower_bound ?? ""]) };
  },
};

let asking = null, timer = 0;

function refresh(wait = 60) {
  clearTimeout(timer);
  remember();
  timer = setTimeout(run, wait);
}

async function run() {
  asking?.abort();
  const own = (asking = new AbortController());
  const begun = performance.now(), panel = $(state.tab);
  const clock = setInterval(() => {
    $("busy").textContent = `computing for ${Math.round((performance.now() - begun) / 1000)} s …`;
  }, 1000);
  panel.classList.add("stale");
  panel.setAttribute("aria-busy", "true");
  let failed = false;
  try {
    clearErrors();
    for (const [field, why] of Object.entries(leftOut(state.tab))) if (why) inField(field, new Error(why));
    await VIEWS[state.tab](own.signal);
  } catch (error) {
    if (own.signal.aborted) return;
    failed = true;
    shown = {};
    complain(error);
    own.abort(); // other parts of the same question
  } finally {
    clearInterval(clock);
    if (asking === own) {
      $("busy").textContent = failed ? "no answer to this question" : "";
      panel.classList.toggle("stale", failed); // what is still there answers an earlier one
      panel.removeAttribute("aria-busy");
    }
  }
}

// ---- errors, beside the field that is wrong ------------------------------------------------------

const PLACE = { family: "mechanism", mechanisms: "mechanism", users: "n" };

function inField(field, error) {
  const note = $(`${field}-error`) ?? $("general-error");
  note.textContent = error.message;
  note.closest("[data-field]")?.querySelectorAll("input:not([type=range]), textarea")
    .forEach((input) => input.setAttribute("aria-invalid", "true"));
}

function complain(error) {
  const field = error instanceof Refused ? PLACE[error.field] ?? error.field : null;
  const parameter = field === "mechanism" && error.message.match(/^\w+: (\w+) /)?.[1];
  inField($(`p-${parameter}-error`) ? `p-${parameter}` : field ?? "general", error);
}

function clearErrors() {
  document.querySelectorAll(".error").forEach((note) => { note.textContent = ""; });
  document.querySelectorAll("[aria-invalid]").forEach((input) => input.removeAttribute("aria-invalid"));
}

// ---- the form ------------------------------------------------------------------------------------

const SLIDERS = {
  n: { text: (v) => String(Math.round(Number(short(10 ** v)))) },
  delta: { text: (v) => short(10 ** v) },
};

function fill() {
  for (const name of FIELDS) $(name).value = state[name];
  for (const name of Object.keys(SLIDERS)) $(`${name}-slider`).value = String(Math.log10(Number(state[name].replaceAll("_", ""))));
  const found = read(state.mechanism, known);
  $("kind").value = found ? found.entry.name : "";
  parametersOf(found);
  for (const tab of TABS) {
    const chosen = tab === state.tab;
    $(tab).hidden = !chosen;
    $(`tab-${tab}`).setAttribute("aria-selected", String(chosen));
    $(`tab-${tab}`).tabIndex = chosen ? 0 : -1;
  }
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
  const named = { id: `p-${name}`, "aria-describedby": `p-${name}-error` };
  const input = choices ? element("select", "", named)
    : element("input", "", { ...named, autocomplete: "off", placeholder: usual === null ? "" : String(usual) });
  const note = element("p", "", { id: `p-${name}-error`, class: "error", role: "alert" });
  input.append(...(choices ?? []).map((c) => element("option", String(c), { value: c === usual ? "" : literal(c) })));
  input.addEventListener("input", rewrite);
  if (name !== "epsilon0") { field.append(input, note); return field; }
  const slider = element("input", "", { id: "p-epsilon0-slider", type: "range", min: "-1.3", max: "1", step: "0.01", "aria-label": "epsilon0, logarithmic" });
  slider.addEventListener("input", () => { input.value = short(10 ** Number(slider.value)); rewrite(); });
  const pair = element("div", "", { class: "pair" });
  pair.append(slider, input);
  field.append(pair, note);
  return field;
}

const literal = (value) => (typeof value === "string" ? `'${value}'` : String(value));

function rewrite() {
  const entry = known.find((m) => m.name === current);
  const values = Object.fromEntries(entry.parameters.map((p) => [p.name, $(`p-${p.name}`)?.value.trim() ?? ""]));
  state.mechanism = write(entry, values);
  $("mechanism").value = state.mechanism;
  if (Number(values.epsilon0) > 0) $("p-epsilon0-slider").value = String(Math.log10(Number(values.epsilon0)));
  refresh();
}

function listen() {
  $("question").addEventListener("submit", (event) => event.preventDefault());
  $("kind").addEventListener("change", () => {
    const entry = known.find((m) => m.name === $("kind").value);
    if (!entry) return;
    state.mechanism = read(entry.example ?? "", [entry]) ? write(entry, initial(entry)) : entry.example;
    fill();
    refresh();
  });
  for (const name of FIELDS) $(name).addEventListener("input", () => {
    state[name] = $(name).value.trim();
    if (name in SLIDERS && Number(state[name]) > 0) $(`${name}-slider`).value = String(Math.log10(Number(state[name])));
    if (name === "mechanism") { const found = read(state.mechanism, known); $("kind").value = found?.entry.name ?? ""; parametersOf(found); }
    refresh();
  });
  for (const [name, { text }] of Object.entries(SLIDERS)) $(`${name}-slider`).addEventListener("input", (event) => {
    $(name).value = state[name] = text(Number(event.target.value));
    refresh();
  });
  $("tabs").addEventListener("click", (event) => event.target.role === "tab" && open(event.target.id.slice(4)));
  $("tabs").addEventListener("keydown", (event) => {
    const here = TABS.indexOf(state.tab);
    const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    open(TABS.at(next % TABS.length));
    $(`tab-${state.tab}`).focus();
  });
  $("take").addEventListener("click", ({ target }) => {
    if (target.dataset.copy) copy(target.dataset.copy);
    if (target.dataset.save) save(target.dataset.save);
  });
  $("report").addEventListener("click", (event) => { event.preventDefault(); saveReport(); });
  window.addEventListener("popstate", () => { recall(); fill(); refresh(0); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => refresh(0));
}

function open(tab) { state.tab = tab; fill(); refresh(0); }

// ---- the address bar -------------------------------------------------------------------------------

function remember() {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (String(value) !== String(START[key])) query.set(key, String(value));
  }
  history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
  $("report").hidden = isSum() || state.tab === "tiers";
  document.querySelector("[data-save=svg]").hidden = !["curve", "rounds"].includes(state.tab);
  $("report").href = `/api/report?${new URLSearchParams({ mechanism: state.mechanism, n: state.n, delta: state.delta, ...(state.corrupted && { corrupted: state.corrupted }) })}`;
}

function recall() {
  const query = new URLSearchParams(location.search);
  for (const key of Object.keys(START)) state[key] = query.get(key) ?? START[key];
  if (typeof state.bounds === "string") state.bounds = state.bounds.split(",").filter((name) => /^[a-z_]+$/.test(name));
  if (!TABS.includes(state.tab)) state.tab = "answer";
  for (const name of ["against", "task", "view"]) if (![...$(name).options].some((o) => o.value === state[name])) state[name] = START[name];
}

// ---- taking it along -------------------------------------------------------------------------------

async function copy(kind) {
  if (kind === "json" && !shown.answer) return say("there is no answer to copy");
  const text = { python: () => asPython(state), command: () => asCommand(state), json: () => JSON.stringify(shown.answer, null, 2) }[kind]();
  const done = await navigator.clipboard.writeText(text).then(() => true, () => false);
  say(done ? `copied: ${kind}` : "the browser does not let this page copy");
}

let said = 0;

function say(text, seconds = 5) {
  clearTimeout(said);
  $("copied").textContent = text;
  said = setTimeout(() => { $("copied").textContent = ""; }, 1000 * seconds);
}

const rowsOf = (answer) => answer.curves.flatMap((c) => c.x.map((x, i) => [c.label, c.kind, x, c.y[i] ?? ""]));
const cell = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));

async function save(kind) {
  if (!(kind === "svg" ? shown.chart : shown.table)) return say("there is no answer to save");
  const content = kind === "svg" ? await svg($(shown.chart)) : [shown.head, ...shown.table].map((row) => row.map(cell).join(",")).join("\n") + "\n";
  download(new Blob([content], { type: kind === "svg" ? "image/svg+xml" : "text/csv" }), `shuffledp-${state.tab}.${kind}`);
}

function download(content, name) {
  const address = URL.createObjectURL(content);
  element("a", "", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// A document takes seconds, and what is wrong is said here instead of being saved.
async function saveReport() {
  say("the report is being written …", 600);
  const response = await fetch($("report").href).catch(() => null);
  if (response?.ok) {
    download(await response.blob(), "report.html");
    return say("saved: report.html");
  }
  complain(new Refused(await response?.json() ?? { error: "the server does not answer" }));
  say("there is no report of this question");
}

// ---- start -----------------------------------------------------------------------------------------

recall();
try {
  known = await load(ask);
} catch (error) {
  complain(error);
}
$("kind").append(element("option", "(as text)", { value: "" }), ...known.map((m) => element("option", m.name, { value: m.name })));
fill();
listen();
remember();
await run();
document.querySelector("main").removeAttribute("aria-busy");
