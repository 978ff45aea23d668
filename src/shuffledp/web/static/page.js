// The page: one question, four views, and the address bar that holds it all.

import { ask, Refused } from "./ask.js";
import { draw, svg } from "./chart.js";
import { asCommand, asPython } from "./copies.js";
import { initial, load, read, withoutLevel, write } from "./mechanisms.js";
import { growthUp, percentUp, roundDown, roundUp, short } from "./numbers.js";
import { joined, partsOf, RANGES } from "./parts.js";

const $ = (id) => document.getElementById(id);
const TABS = ["answer", "curve", "plan", "rounds"];
const FIELDS = ["mechanism", "n", "delta", "corrupted", "against", "task", "domain", "target", "times", "budget"];
const state = {
  tab: "answer", mechanism: "krr(k=10, epsilon0=2)", n: "10000", delta: "1e-6", corrupted: "", against: "users",
  task: "frequency", domain: "10", target: "0.1", times: "52", budget: "1", bounds: [],
};
const START = { ...state };
let known = [], current = null, shown = {};

// ---- asking ------------------------------------------------------------------------------------

const isCorrupted = () => state.corrupted !== "" && Number(state.corrupted) !== 0;
const crowd = () => ({ n: state.n, corrupted: state.corrupted });

async function showParts(place, question, range, signal) {
  const parts = partsOf(range, question.against), found = [];
  shown = { chart: place };
  await Promise.all(parts.map(async (part, i) => {
    found[i] = await ask("curve", { ...question, ...part }, signal);
    const done = found.filter(Boolean);
    if (done.length < parts.length) $("busy").textContent = `${done.length} of ${parts.length} parts`;
    const answer = joined(done);
    Object.assign(shown, { answer, table: rowsOf(answer) });
    await showCurve(place, answer);
  }));
}

async function published(signal) {
  const { bounds } = await ask("compare", { mechanism: state.mechanism, n: state.n, delta: state.delta }, signal);
  showPublished(bounds);
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
    shown.table = bounds.map((b) => [b.bound, b.title, b.kind, b.epsilon ?? ""]);
  },
  async curve(signal) {
    const { against } = state;
    await showParts("curve-chart", {
      mechanism: against === "epsilon0" ? withoutLevel(state.mechanism) : state.mechanism, against,
      n: against === "users" ? "" : state.n, delta: ["users", "epsilon0"].includes(against) ? state.delta : "",
      bounds: ["guarantee", "lower_bound", ...state.bounds],
    }, RANGES[against], signal);
    if (!$("bounds").querySelector("input")) await published(signal);
  },
  async plan(signal) {
    const answer = await ask("plan", {
      task: state.task, n: state.n, delta: state.delta, epsilon: state.target, domain: state.domain,
    }, signal);
    showPlan(answer);
    shown = { answer, table: answer.options.map((o) => [o.name, o.mechanism, o.epsilon0, o.error]) };
  },
  async rounds(signal) {
    const base = { mechanism: state.mechanism, n: state.n, delta: state.delta };
    const answer = await ask("rounds", { ...base, times: state.times }, signal);
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
      ...base, against: "rounds", bounds: ["guarantee", "lower_bound"], rtol: "1e-2",
    }, [1, most], signal);
    shown.answer = answer;
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
  try {
    clearErrors();
    if (isCorrupted() && state.tab !== "answer") inField("corrupted", new Error("They are not counted in this view: its numbers are for honest users. The answer counts them."));
    await VIEWS[state.tab](own.signal);
  } catch (error) {
    if (own.signal.aborted) return;
    complain(error);
    own.abort(); // other parts of the same question
  } finally {
    clearInterval(clock);
    if (asking === own) {
      $("busy").textContent = "";
      panel.classList.remove("stale");
      panel.removeAttribute("aria-busy");
    }
  }
}

// ---- errors, beside the field that is wrong ------------------------------------------------------

const PLACE = { family: "mechanism", users: "n", times: "times", domain: "domain", epsilon: "epsilon" };

function inField(field, error) {
  const note = $(`${field}-error`) ?? $("general-error");
  note.textContent = error.message;
  note.closest("[data-field]")?.querySelectorAll("input:not([type=range]), textarea")
    .forEach((input) => input.setAttribute("aria-invalid", "true"));
}

function complain(error) {
  const field = error instanceof Refused ? PLACE[error.field] ?? error.field : null;
  inField(field ?? "general", error);
}

function clearErrors() {
  document.querySelectorAll(".error").forEach((note) => { note.textContent = ""; });
  document.querySelectorAll("[aria-invalid]").forEach((input) => input.removeAttribute("aria-invalid"));
}

// ---- showing -----------------------------------------------------------------------------------

function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function bar(part) {
  const cell = element("td", "", { class: "bar", "aria-hidden": "true" });
  const inner = element("i");
  inner.style.width = `${Math.max(0, Math.min(1, part)) * 100}%`;
  cell.append(inner);
  return cell;
}

function big(place, guarantee, lower) {
  $(place).replaceChildren(`ε ≤ ${guarantee} `, element("small", `no analysis can prove less than ${lower}`));
}

function showAnswer(answer, chance) {
  const epsilon = answer.guarantee.upper, advantage = chance.guarantee.upper;
  const users = answer.n.toLocaleString("en");
  big("guarantee", roundUp(epsilon), roundDown(answer.lower_bound));
  $("sentence").textContent =
    `With ${users} users${answer.corrupted ? `, ${answer.corrupted.toLocaleString("en")} of them corrupted,` : ""} the shuffled reports are (${roundUp(epsilon)}, ${state.delta})-differentially private.`;
  $("person").replaceChildren(...[
    [`${percentUp(advantage)} %`, "better than chance: what anyone who knows all others can gain in guessing your value, at most"],
    [`× ${growthUp(epsilon)}`, `as likely, plus ${state.delta}: what your data can make of anything that the reports show, at most`],
    [answer.ldp_level === null ? "–" : `ε0 = ${roundUp(answer.ldp_level)}`, "what your report alone reveals to whoever knows it is yours"],
  ].map(([number, text]) => { const li = element("li", text); li.prepend(element("b", number)); return li; }));
  const facts = {
    "worst inputs": `${answer.worst_pair} (${answer.pairs})`, "attacked datasets": answer.datasets,
    proof: answer.bound + (answer.bound_reason ? ` (${answer.bound_reason})` : ""), assumes: answer.assumptions.join("; "),
  };
  $("facts").replaceChildren(...Object.entries(facts).flatMap(([k, v]) => [element("dt", k), element("dd", v)]));
  $("version").textContent = `shuffledp ${answer.version}`;
}

function showPublished(bounds) {
  $("published-title").textContent = isCorrupted() ? "Published analyses, if all users were honest" : "Published analyses";
  const most = Math.max(...bounds.map((b) => b.epsilon ?? 0));
  $("published").tBodies[0].replaceChildren(...bounds.map((b) => {
    const row = element("tr", "", { class: b.title.startsWith("shuffledp") ? "ours" : "theirs" });
    row.append(element("td", b.title + (b.kind === "lower" && !b.title.includes("lower") ? " (lower)" : "")));
    if (b.epsilon === null) row.append(element("td", b.reason, { colspan: "3", class: "hint" }));
    else row.append(
      element("td", (b.kind === "upper" ? roundUp : roundDown)(b.epsilon), { class: "number" }),
      element("td", b.ratio_to_ours?.toPrecision(3) ?? "–", { class: "number" }), bar(b.epsilon / most));
    return row;
  }));
  const others = bounds.filter((b) => !["guarantee", "lower_bound"].includes(b.bound));
  if ($("bounds").querySelector("input")) return;
  $("bounds").append(...others.map((b) => {
    const label = element("label"), box = element("input", "", { type: "checkbox", value: b.bound });
    box.checked = state.bounds.includes(b.bound);
    box.addEventListener("change", () => {
      state.bounds = [...$("bounds").querySelectorAll("input:checked")].map((i) => i.value);
      refresh();
    });
    label.append(box, ` ${b.title}`);
    return label;
  }));
}

async function showCurve(place, answer) {
  await draw($(place), answer, { logX: answer.against !== "epsilon" });
  const notes = answer.curves.filter((c) => c.reasons.some(Boolean));
  if (place === "curve-chart") {
    $("curve-notes").replaceChildren(...notes.map((c) =>
      element("li", `${c.label}: ${c.reasons.filter(Boolean).length} points without an answer: ${c.reasons.find(Boolean)}`)));
  }
}

function showPlan({ options, left_out: missing, n }) {
  const worst = Math.max(...options.map((o) => o.error)), best = options[0];
  $("plan-sentence").textContent = `Best for ${n.toLocaleString("en")} users: ${best.mechanism}, typically off by ${roundUp(best.error)}.`;
  $("options").tBodies[0].replaceChildren(...options.map((o) => {
    const row = element("tr"), use = element("button", "use", { type: "button", "aria-label": `use ${o.name}` });
    use.addEventListener("click", () => { state.mechanism = o.mechanism; state.tab = "answer"; fill(); refresh(0); });
    const cell = element("td");
    cell.append(use);
    row.append(element("td", o.name), element("td", roundDown(o.epsilon0), { class: "number" }),
      element("td", o.report_bytes.toLocaleString("en"), { class: "number" }),
      element("td", roundUp(o.error), { class: "number" }), bar(o.error / worst),
      element("td", o.previous ? roundUp(o.previous.error) : "–", { class: "number" }), cell);
    return row;
  }));
  $("left-out").replaceChildren(...missing.map((o) => element("li", `${o.name}: ${o.reason}`)));
}

function showRounds(answer) {
  big("rounds-guarantee", roundUp(answer.guarantee.upper), roundDown(answer.lower_bound));
  $("rounds-sentence").textContent =
    `After ${answer.times.toLocaleString("en")} rounds all reports together are (${roundUp(answer.guarantee.upper)}, ${state.delta})-differentially private; ` +
    `one round is ${roundUp(answer.one_round[0])}, and adding up would give ${roundUp(answer.naive)}.`;
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
  for (const [key, value] of Object.entries(found?.values ?? {})) {
    const input = $(`p-${key}`);
    if (input && document.activeElement !== input) input.value = value;
    if (key === "epsilon0" && $("p-epsilon0-slider")) $("p-epsilon0-slider").value = String(Math.log10(Number(value)));
  }
}

function parameterField(parameter) {
  const { name, required, default: usual, choices } = parameter;
  const field = element("div", "", { class: "field" });
  field.append(element("label", required ? name : `${name} (optional)`, { for: `p-${name}` }));
  const input = choices ? element("select", "", { id: `p-${name}` })
    : element("input", "", { id: `p-${name}`, autocomplete: "off", placeholder: usual === null ? "" : String(usual) });
  input.append(...(choices ?? []).map((c) => element("option", String(c), { value: c === usual ? "" : literal(c) })));
  input.addEventListener("input", rewrite);
  if (name !== "epsilon0") { field.append(input); return field; }
  const slider = element("input", "", { id: "p-epsilon0-slider", type: "range", min: "-1.3", max: "1", step: "0.01", "aria-label": "epsilon0, logarithmic" });
  slider.addEventListener("input", () => { input.value = short(10 ** Number(slider.value)); rewrite(); });
  const pair = element("div", "", { class: "pair" });
  pair.append(slider, input);
  field.append(pair);
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
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    open(TABS[(TABS.indexOf(state.tab) + step + TABS.length) % TABS.length]);
    $(`tab-${state.tab}`).focus();
  });
  $("take").addEventListener("click", ({ target }) => {
    if (target.dataset.copy) copy(target.dataset.copy);
    if (target.dataset.save) save(target.dataset.save);
  });
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
  $("report").href = `/api/report?${new URLSearchParams({ mechanism: state.mechanism, n: state.n, delta: state.delta, ...(state.corrupted && { corrupted: state.corrupted }) })}`;
}

function recall() {
  const query = new URLSearchParams(location.search);
  for (const key of Object.keys(START)) state[key] = query.get(key) ?? START[key];
  if (typeof state.bounds === "string") state.bounds = state.bounds.split(",").filter((name) => /^[a-z_]+$/.test(name));
  if (!TABS.includes(state.tab)) state.tab = "answer";
  for (const name of ["against", "task"]) if (![...$(name).options].some((o) => o.value === state[name])) state[name] = START[name];
}

// ---- taking it along -------------------------------------------------------------------------------

async function copy(kind) {
  const text = { python: () => asPython(state), command: () => asCommand(state), json: () => JSON.stringify(shown.answer ?? null, null, 2) }[kind]();
  const done = await navigator.clipboard.writeText(text).then(() => true, () => false);
  say(done ? `copied: ${kind}` : "the browser does not let this page copy");
}

let said = 0;

function say(text) {
  clearTimeout(said);
  $("copied").textContent = text;
  said = setTimeout(() => { $("copied").textContent = ""; }, 5000);
}

const rowsOf = (answer) => answer.curves.flatMap((c) => c.x.map((x, i) => [c.label, c.kind, x, c.y[i] ?? ""]));
const cell = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));

async function save(kind) {
  if (kind === "svg" && !shown.chart) return say("there is no picture in this view");
  const content = kind === "svg" ? await svg($(shown.chart)) : (shown.table ?? []).map((row) => row.map(cell).join(",")).join("\n") + "\n";
  const address = URL.createObjectURL(new Blob([content], { type: kind === "svg" ? "image/svg+xml" : "text/csv" }));
  element("a", "", { href: address, download: `shuffledp-${state.tab}.${kind}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
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
