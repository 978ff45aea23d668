// The page: one question, six views, and the address bar that holds it all.

import { ask, Refused } from "./ask.js";
import { svg } from "./chart.js";
import { asCommand, asPython } from "./copies.js";
import { $ } from "./dom.js";
import { download, fetched, listenToFiles } from "./files.js";
import { fill, start } from "./form.js";
import { load, withoutLevel } from "./mechanisms.js";
import { joined, partsOf, RANGES } from "./parts.js";
import { oneRound, showAnswer, showCurve, showFound, showPlan, showPublished, showRounds, showTiers } from "./show.js";
import { conditions, groupsOf, leftOut, START, state, TABS } from "./state.js";
import { explain } from "./words.js";

let shown = {};

// ---- asking ------------------------------------------------------------------------------------

async function showParts(place, question, range, signal) {
  const parts = partsOf(range, question.against, question.rounds ? 2 : 6), found = []; // several rounds take their time
  Object.assign(shown, { chart: place });
  await Promise.all(parts.map(async (part, i) => {
    found[i] = await ask("curve", { ...question, ...part }, signal);
    const done = found.filter(Boolean);
    if (done.length < parts.length) $("busy").textContent = `${done.length} of ${parts.length} parts`;
    const answer = joined(done);
    Object.assign(shown, { answer, head: ["label", "kind", answer.against, answer.quantity], table: rowsOf(answer) });
    await showCurve(place, answer);
  }));
}

async function published(signal, asked) {
  const { bounds } = await ask("compare", { mechanism: state.mechanism, n: state.n, delta: state.delta, ...asked, bound: "" }, signal);
  showPublished(bounds, refresh);
  return bounds;
}

const VIEWS = {
  async find(signal, rest) {
    const aim = { epsilon: state.target, delta: state.delta, ...rest };
    const answer = await (state.want === "users" ? ask("users", { mechanism: state.mechanism, ...aim }, signal)
      : ask("calibrate", { family: withoutLevel(state.mechanism), n: state.n, ...aim }, signal));
    const { mechanism, n } = oneRound(answer);
    showFound(answer);
    shown = { answer, question: { mechanism, n: String(n) }, head: ["mechanism", "users", "epsilon", "delta"], table: [[mechanism, n, answer.guarantee.upper, state.delta]] };
  },
  async answer(signal, rest) {
    const base = { mechanism: state.mechanism, n: state.n, ...rest };
    const [answer, chance] = await Promise.all([
      ask("epsilon", { ...base, delta: state.delta }, signal),
      ask("delta", { ...base, epsilon: "0" }, signal),
    ]);
    showAnswer(answer, chance);
    shown = { answer, head: ["bound", "title", "kind", "epsilon"], table: [["guarantee", "shuffledp, guarantee", "upper", answer.guarantee.upper], ["lower_bound", "shuffledp, lower bound", "lower", answer.lower_bound]] };
    if (!$("published-fold").open) return;
    const bounds = await published(signal, rest);
    shown.table = bounds.map((b) => [b.bound, b.title, b.kind, b.epsilon ?? ""]);
  },
  async curve(signal, rest) {
    const { against } = state;
    shown = {};
    await showParts("curve-chart", {
      mechanisms: against === "epsilon0" ? withoutLevel(state.mechanism) : state.mechanism, against, ...rest,
      n: against === "users" ? "" : state.n, delta: ["users", "epsilon0", "rounds"].includes(against) ? state.delta : "",
      bounds: ["guarantee", "lower_bound", ...state.bounds], rtol: against === "rounds" || rest.rounds ? "1e-2" : "",
    }, RANGES[against], signal);
    if (!$("bounds").querySelector("input")) await published(signal, { ...rest, rounds: "", at_most: "" });
  },
  async plan(signal, rest) {
    const answer = await ask("plan", {
      task: state.task, n: state.n, ...rest, delta: state.delta, epsilon: state.target, domain: state.domain,
    }, signal);
    showPlan(answer, (mechanism) => { state.mechanism = mechanism; open("answer"); });
    shown = { answer, question: { mechanism: answer.options[0].mechanism, n: state.n }, head: ["name", "mechanism", "epsilon0", "error"], table: answer.options.map((o) => [o.name, o.mechanism, o.epsilon0, o.error]) };
  },
  async rounds(signal, rest) {
    const base = { mechanism: state.mechanism, n: state.n, ...rest, delta: state.delta };
    const fitting = ask("rounds", { ...base, rounds: "", at_most: "", epsilon: state.budget }, signal).catch((error) => {
      if (!state.rounds || !(error instanceof Refused)) throw error;
      inField("budget", error);
    });
    const [fit, own] = await Promise.all([fitting, state.rounds ? ask("rounds", base, signal) : null]);
    const answer = own ?? fit;
    showRounds(answer, fit);
    shown = { answer, rounds: String(answer.times) };
    const most = Math.min(Math.max(16, 4 * answer.times), 1e9);
    await showParts("rounds-chart", {
      ...base, mechanism: "", mechanisms: state.mechanism, bound: "", rounds: "", at_most: "", against: "rounds", bounds: ["guarantee", "lower_bound"], rtol: "1e-2",
    }, [1, most], signal);
    shown.answer = answer;
  },
  async tiers(signal, rest) {
    const answer = await ask("tiers", { groups: groupsOf(state.groups), dummies: state.dummies, delta: state.delta, ...rest }, signal);
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
  const begun = performance.now(), panel = $(`panel-${state.tab}`);
  const clock = setInterval(() => {
    $("busy").textContent = `computing for ${Math.round((performance.now() - begun) / 1000)} s …`;
  }, 1000);
  for (const place of [panel, $("now")]) place.classList.add("stale");
  panel.setAttribute("aria-busy", "true");
  let failed = false;
  try {
    clearErrors();
    for (const [field, why] of Object.entries(leftOut(state))) inField(field, new Error(why));
    await VIEWS[state.tab](own.signal, conditions(state));
    $("version").textContent = `shuffledp ${shown.answer.version}`;
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
      $("now").textContent = panel.querySelector(".big, p[aria-live]")?.textContent ?? "";
      for (const place of [panel, $("now")]) place.classList.toggle("stale", failed); // what is still there answers an earlier one
      for (const place of [panel, $("question")]) explain(place);
      remember();
      panel.removeAttribute("aria-busy");
    }
  }
}

// ---- errors, beside the field that is wrong ------------------------------------------------------

const PLACE = { family: "mechanism", mechanisms: "mechanism", users: "n" };
const HERE = { plan: { epsilon: "plan-epsilon" }, rounds: { epsilon: "budget" } };

function inField(field, error) {
  const note = $(`${field}-error`) ?? $("general-error");
  note.textContent = error.message;
  note.closest("details")?.setAttribute("open", "");
  note.closest("[data-field]")?.querySelectorAll("input:not([type=range]), textarea, select")
    .forEach((input) => input.setAttribute("aria-invalid", "true"));
}

function complain(error) {
  const named = error instanceof Refused ? PLACE[error.field] ?? error.field : null, field = HERE[state.tab]?.[named] ?? named;
  const parameter = field === "mechanism" && error.message.match(/^\w+: (\w+) /)?.[1];
  inField($(`p-${parameter}-error`) ? `p-${parameter}` : field ?? "general", error);
}

function clearErrors() {
  document.querySelectorAll("main .error").forEach((note) => { note.textContent = ""; });
  document.querySelectorAll("[aria-invalid]").forEach((input) => input.removeAttribute("aria-invalid"));
}

// ---- moving about ----------------------------------------------------------------------------------

function listen() {
  $("tabs").addEventListener("click", (event) => event.target.role === "tab" && open(event.target.id.slice(4)));
  $("tabs").addEventListener("keydown", (event) => {
    const here = TABS.indexOf(state.tab);
    const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    open(TABS.at(next % TABS.length));
    $(`tab-${state.tab}`).focus();
  });
  $("published-fold").addEventListener("toggle", () => $("published-fold").open && refresh(0));
  $("use-found").addEventListener("click", () => { if (shown.question) { Object.assign(state, shown.question); open("answer"); } });
  $("take").addEventListener("click", ({ target }) => {
    if (target.dataset.copy) copy(target.dataset.copy);
    if (target.dataset.save) save(target.dataset.save);
  });
  for (const [id, name, what] of [["report", "report.html", "report"], ["save-setting", "setting.toml", "setting"]]) {
    $(id).addEventListener("click", (event) => { event.preventDefault(); saveAnswer($(id).href, name, what); });
  }
  listenToFiles(() => { fill(); refresh(0); });
  window.addEventListener("popstate", () => { recall(); fill(); refresh(0); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => refresh(0));
}

function open(tab) { state.tab = tab; fill(); refresh(0); }

// ---- the address bar -------------------------------------------------------------------------------

const addressOf = (name, asked) =>
  `/api/${name}?${new URLSearchParams(Object.entries(asked).flatMap(([key, value]) => [value].flat().filter(Boolean).map((one) => [key, one])))}`;

// What the answer of this tab is about: what is found, where something is.
function settled() {
  const rest = conditions(state);
  if (state.tab === "tiers") return { groups: groupsOf(state.groups), dummies: state.dummies, ...rest };
  const found = state.tab === "rounds" && shown.rounds ? { rounds: shown.rounds } : {};
  return { mechanism: state.mechanism, n: state.n, ...rest, ...found, ...shown.question };
}

function remember() {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (String(value) !== String(START[key])) query.set(key, String(value));
  }
  history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
  $("report").hidden = state.tab === "tiers"; // there is no document about tiers
  document.querySelector("[data-save=svg]").hidden = !["curve", "rounds"].includes(state.tab);
  $("report").href = addressOf("report", { ...settled(), delta: state.delta });
  $("save-setting").href = addressOf("setting", settled());
}

function recall() {
  const query = new URLSearchParams(location.search);
  for (const key of Object.keys(START)) state[key] = query.get(key) ?? START[key];
  if (typeof state.bounds === "string") state.bounds = state.bounds.split(",").filter((name) => /^[a-z_]+$/.test(name));
  if (!TABS.includes(state.tab)) state.tab = "find";
  for (const name of ["against", "task", "view", "bound", "want"]) if (![...$(name).options].some((o) => o.value === state[name])) state[name] = START[name];
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

// A document takes seconds, and what is wrong is said here instead of being saved.
async function saveAnswer(address, name, what) {
  say(`the ${what} is being written …`, 600);
  try {
    download(await fetched(address), name);
    say(`saved: ${name}`);
  } catch (error) {
    complain(error);
    say(`there is no ${what} of this question`);
  }
}

// ---- start -----------------------------------------------------------------------------------------

recall();
const mechanisms = await load(ask).catch((error) => { complain(error); return []; });
start(mechanisms, refresh);
fill();
listen();
await run();
document.querySelector("main").removeAttribute("aria-busy");
