// Answers on the page.

import { draw } from "./chart.js";
import { $, bar, big, element } from "./dom.js";
import { givenOrUp, growthUp, percentUp, roundDown, roundUp } from "./numbers.js";
import { isSum, state } from "./state.js";

const crowdOf = ({ n, corrupted, corrupted_adaptively: later }) =>
  `${n.toLocaleString("en")} users${corrupted ? `, ${corrupted.toLocaleString("en")} of them corrupted` : ""}${later ? `, ${later.toLocaleString("en")} more after the fact` : ""}`;
const comma = ({ corrupted, corrupted_adaptively: later }) => (corrupted || later ? "," : "");

// What the numbers protect: neighbouring datasets differ no more than this.
const neighbours = (relation) => `for neighbouring datasets that ${relation.text}`;

// What one round of an answer is about; of one round, the answer itself.
export const oneRound = (answer) => answer.rounds?.[0] ?? answer;

function sentence(answer, delta) {
  const one = oneRound(answer), limit = roundUp(answer.guarantee.upper), epsilon = answer.target_epsilon ?? null;
  const level = epsilon === null ? limit : givenOrUp(epsilon), crowd = `${crowdOf(one)}${comma(one)}`;
  if (!answer.rounds) return `With ${crowd} ${isSum() ? "the sum of the reports is" : "the shuffled reports are"} (${level}, ${delta})-differentially private ${neighbours(one.relation)}.`;
  const some = answer.at_most === null ? "" : `, of which each user takes part in at most ${answer.at_most.toLocaleString("en")},`;
  const times = `${answer.times.toLocaleString("en")} round${answer.times === 1 ? "" : "s"}`;
  return `After ${times}${some} of ${crowd} ${isSum() ? "the sums of all of them" : "all shuffled reports"} together are (${level}, ${delta})-differentially private ${neighbours(one.relation)}, in each round` +
    (answer.naive === null ? "." : `; one round is ${roundUp(answer.one_round[0])}, and adding up would give ${roundUp(answer.naive)}.`);
}

export function showFound(answer) {
  const one = oneRound(answer), users = state.want === "users";
  $("found").replaceChildren(users ? `${one.n.toLocaleString("en")} users ` : `ε0 = ${roundDown(answer.epsilon0)} `,
    element("small", users ? "are enough, and no fewer are known to be" : "is safe: the least noise that is known to be"));
  $("found-sentence").textContent = `${users ? "" : `${one.mechanism}. `}${sentence(answer, state.delta)}`;
  const known = answer.accuracy.length ? answer.accuracy : ["No formula for the error of estimates is known here."];
  $("accuracy-title").textContent = answer.rounds ? "How accurate one round is" : "How accurate that is";
  $("accuracy").replaceChildren(...known.map((text) => element("li", text)));
}

export function showAnswer(answer, chance) {
  const epsilon = answer.guarantee.upper, advantage = chance.guarantee.upper, one = oneRound(answer);
  big("guarantee", roundUp(epsilon), roundDown(answer.lower_bound));
  $("sentence").textContent = sentence(answer, state.delta);
  const whole = one.relation.attributes === null;
  $("person").replaceChildren(...[
    [`${percentUp(advantage)} %`, `better than chance: what anyone who knows all others can gain in ${whole ? "guessing your value" : "telling two such values of yours apart"}, at most`],
    [`× ${growthUp(epsilon)}`, `as likely, plus ${state.delta}: what ${whole ? "your data" : "such a change of your data"} can make of anything that the reports show, at most`],
    one.ldp_level === null ? ["no ε0", "your report alone, seen by whoever knows it is yours, has no pure local level"]
      : [`ε0 = ${givenOrUp(one.ldp_level)}`, `what your report alone${answer.rounds ? ", of one round," : ""} reveals to whoever knows it is yours${whole ? "" : ", whatever changes"}`],
  ].map(([number, text]) => { const li = element("li", text); li.prepend(element("b", number)); return li; }));
  const facts = {
    ...(answer.worst_pair && { "worst inputs": `${answer.worst_pair} (${answer.pairs})` }), "attacked datasets": one.datasets,
    proof: answer.rounds ? `rounds composed, each with ${one.bound === "best" ? "the smaller of blanket and swap bound" : "the blanket bound"}` : `${answer.bound}${answer.bound === "swap" ? " bound" : ""}` + (answer.bound_reason ? ` (${answer.bound_reason})` : ""), assumes: answer.assumptions.join("; "),
  };
  $("facts").replaceChildren(...Object.entries(facts).flatMap(([k, v]) => [element("dt", k), element("dd", v)]));
}

export function showPublished(bounds, refresh) {
  $("published-title").textContent = state.corrupted ? "Published analyses, of the honest users" : "Published analyses";
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

export async function showCurve(place, answer) {
  await draw($(place), answer, { logX: answer.against !== "epsilon" });
  const notes = answer.curves.filter((c) => c.reasons.some(Boolean)), share = answer.corrupted;
  const crowd = share < 1 ? `${Number((100 * share).toPrecision(12))} % of the users` : `${share.toLocaleString("en")} users`;
  if (place === "curve-chart") {
    $("curve-notes").replaceChildren(...(share ? [element("li", `corrupted: ${crowd}`)] : []), ...notes.map((c) =>
      element("li", `${c.label}: ${c.reasons.filter(Boolean).length} points without an answer: ${c.reasons.find(Boolean)}`)));
  }
}

export function showPlan({ options, left_out: missing, n, corrupted, corrupted_adaptively, rounds }, use) {
  const worst = Math.max(...options.map((o) => o.error)), best = options[0];
  const shift = best.largest_shift === null ? "any amount" : `${roundUp(best.largest_shift)} at most`;
  $("plan-sentence").textContent = `Best for ${crowdOf({ n, corrupted, corrupted_adaptively })}: ${best.mechanism}, typically off by ${roundUp(best.error)}${rounds > 1 ? " in one round" : ""}` +
    (corrupted ? ` if all report as planned; corrupted ones who choose their reports can move an estimate by ${shift} more.` : ".");
  $("options").tBodies[0].replaceChildren(...options.map((o) => {
    const row = element("tr"), button = element("button", "use", { type: "button", "aria-label": `use ${o.name}` });
    button.addEventListener("click", () => use(o.mechanism));
    const cell = element("td");
    cell.append(button);
    row.append(element("td", o.name), element("td", roundDown(o.epsilon0), { class: "number" }),
      element("td", o.report_bytes.toLocaleString("en"), { class: "number extra" }),
      element("td", roundUp(o.error), { class: "number" }), bar(o.error / worst),
      element("td", o.previous ? roundUp(o.previous.error) : "–", { class: "number extra" }), cell);
    return row;
  }));
  $("left-out").replaceChildren(...missing.map((o) => element("li", `${o.name}: ${o.reason}`)));
}

export function showRounds(answer, fit) {
  if (state.rounds) big("rounds-guarantee", roundUp(answer.guarantee.upper), roundDown(answer.lower_bound));
  else $("rounds-guarantee").replaceChildren(`${fit.times.toLocaleString("en")} rounds `, element("small", `fit into a budget of ε = ${state.budget}`));
  $("rounds-sentence").textContent = sentence({ ...answer, target_epsilon: null }, state.delta);
  $("rounds-fit").textContent = state.rounds && fit ? `${fit.times.toLocaleString("en")} such rounds fit into a budget of ε = ${state.budget}, if everybody takes part in all.` : "";
}

export function showTiers(answer) {
  const worst = Math.max(...answer.tiers.map((t) => t.guarantee.upper ?? Infinity));
  const relations = [...new Map(answer.tiers.map((t) => [t.relation.text, t.relation])).values()];
  $("tiers-sentence").textContent = Number.isFinite(worst)
    ? `With ${crowdOf(answer)}${comma(answer)} the shuffled reports are (${roundUp(worst)}, ${state.delta})-differentially private for everybody, ${relations.map(neighbours).join(", or of another tier ")}.`
    : "There is a tier without a guarantee.";
  $("tiers-table").tBodies[0].replaceChildren(...answer.tiers.map((t) => {
    const row = element("tr"), upper = t.guarantee.upper;
    row.append(element("td", t.mechanism), element("td", t.n.toLocaleString("en"), { class: "number" }),
      element("td", upper === null ? "none" : roundUp(upper), { class: "number" }), bar((upper ?? worst) / worst),
      element("td", t.lower_bound ? roundDown(t.lower_bound) : "none", { class: "number" }), element("td", t.among, { class: "extra" }));
    return row;
  }));
}
