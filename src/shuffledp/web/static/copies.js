// The question as a command and as Python.

import { withoutLevel } from "./mechanisms.js";
import { groupsOf } from "./state.js";

const quoted = (text) => (/^[\w.+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const number = (text) => (/^[0-9._eE+-]+$/.test(text) ? text : JSON.stringify(text));

// "5%" as the share 0.05.
const share = (text) => (/^[0-9.]+%$/.test(text) ? String(Number((parseFloat(text) / 100).toPrecision(15))) : number(text));

export function asCommand(state) {
  const { mechanism, n, delta, tab, against } = state;
  const base = `${quoted(mechanism)} -n ${quoted(n)} --delta ${quoted(delta)}`;
  const crowded = state.corrupted ? ` --corrupted ${quoted(state.corrupted)}` : "";
  const bounds = state.bounds.length ? ["guarantee", "lower_bound", ...state.bounds].map((b) => ` --bound ${b}`).join("") : "";
  const domain = state.domain ? ` --domain ${quoted(state.domain)}` : "";
  const view = state.view === "sum" ? " --view sum" : "";
  return {
    answer: `shuffledp epsilon ${base}${crowded}${view}`,
    curve: `shuffledp curve ${quoted(against === "epsilon0" ? withoutLevel(mechanism) : mechanism)} --against ${against}` +
      (against === "users" ? "" : ` -n ${quoted(n)}`) + (["users", "epsilon0", "rounds"].includes(against) ? ` --delta ${quoted(delta)}` : "") +
      `${bounds}${crowded}${view} --out curve.svg`,
    plan: `shuffledp plan --task ${state.task} -n ${quoted(n)} --epsilon ${quoted(state.target)} --delta ${quoted(delta)}${domain}${crowded}${view}`,
    rounds: `shuffledp rounds ${base} --times ${quoted(state.times)}${crowded}${view}`,
    tiers: `shuffledp tiers ${groupsOf(state.groups).map((g) => `--group ${quoted(g)}`).join(" ")} --delta ${quoted(delta)}${crowded}`,
  }[tab];
}

export function asPython(state) {
  const { tab, against } = state, mechanism = JSON.stringify(state.mechanism), n = `int(${number(state.n)})`, delta = number(state.delta);
  const crowded = state.corrupted ? `, corrupted=${share(state.corrupted)}` : "";
  const domain = state.domain ? `, domain_size=int(${number(state.domain)})` : "";
  const view = state.view === "sum" ? ', view="sum"' : "";
  const accountant = `accountant = ShuffleAccountant(${mechanism}, n=${n}${crowded}${view})`;
  const chosen = state.bounds.length ? `, bounds=${JSON.stringify(["guarantee", "lower_bound", ...state.bounds])}` : "";
  const groups = groupsOf(state.groups).map((g) => {
    const end = g.lastIndexOf("=");
    return `Group(parse(${JSON.stringify(g.slice(0, end).trim())}), int(${number(g.slice(end + 1).trim())}))`;
  });
  return {
    answer: `from shuffledp import ShuffleAccountant\n\n${accountant}\nprint(accountant.epsilon_report(${delta}))`,
    curve: `from shuffledp import curve\n\nfound = curve(${against === "epsilon0" ? JSON.stringify(withoutLevel(state.mechanism)) : mechanism}, ${JSON.stringify(against)}` +
      (against === "users" ? "" : `, n=${n}`) + (["users", "epsilon0", "rounds"].includes(against) ? `, target_delta=${delta}` : "") + `${chosen}${crowded}${view})\nfound.plot()`,
    plan: `from shuffledp import plan\n\nfound = plan(n=${n}, target_delta=${delta}, target_epsilon=${number(state.target)}${domain}, task=${JSON.stringify(state.task)}${crowded}${view})\nprint(found.best.ours.randomizer)`,
    rounds: `from shuffledp import ShuffleAccountant\n\n${accountant}\nprint(accountant.rounds(int(${number(state.times)})).epsilon_report(${delta}))`,
    tiers: `from shuffledp import Group, MixedAccountant, parse\n\naccountant = MixedAccountant([${groups.join(", ")}]${crowded})\nprint(accountant.epsilons(${delta}))`,
  }[tab];
}
