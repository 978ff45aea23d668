// The question as a command and as Python.

import { withoutLevel } from "./mechanisms.js";
import { conditions, groupsOf } from "./state.js";

const quoted = (text) => (/^[\w.+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const number = (text) => (/^[0-9._eE+-]+$/.test(text) ? text : JSON.stringify(text));

// "5%" as the share 0.05.
const share = (text) => (/^[0-9.]+%$/.test(text) ? String(Number((parseFloat(text) / 100).toPrecision(15))) : number(text));
const READ = { rounds: (text) => `int(${number(text)})`, at_most: (text) => `int(${number(text)})`, corrupted: share, corrupted_adaptively: share };

const OWN = ["users", "epsilon0", "rounds"]; // what curves have a delta against

const moved = (asked) => ["guarantee", "lower_bound", ...asked.bounds];

export function asCommand(asked) {
  const { mechanism, n, delta, tab, against, target } = asked;
  const base = `${quoted(mechanism)} -n ${quoted(n)} --delta ${quoted(delta)}`;
  const rest = Object.entries(conditions(asked)).map(([name, value]) => ` --${name.replaceAll("_", "-")} ${quoted(value)}`).join("");
  const bounds = asked.bounds.length ? moved(asked).map((b) => ` --bound ${b}`).join("") : "";
  const domain = asked.domain ? ` --domain ${quoted(asked.domain)}` : "";
  const aim = `--epsilon ${quoted(target)} --delta ${quoted(delta)}`;
  return {
    find: asked.want === "users" ? `shuffledp users ${quoted(mechanism)} ${aim}${rest}`
      : `shuffledp calibrate ${quoted(withoutLevel(mechanism))} -n ${quoted(n)} ${aim}${rest}`,
    answer: `shuffledp epsilon ${base}${rest}`,
    curve: `shuffledp curve ${quoted(against === "epsilon0" ? withoutLevel(mechanism) : mechanism)} --against ${against}` +
      (against === "users" ? "" : ` -n ${quoted(n)}`) + (OWN.includes(against) ? ` --delta ${quoted(delta)}` : "") +
      `${bounds}${rest} --out curve.svg`,
    plan: `shuffledp plan --task ${asked.task} -n ${quoted(n)} ${aim}${domain}${rest}`,
    rounds: `shuffledp rounds ${base}${asked.rounds ? "" : ` --epsilon ${quoted(asked.budget)}`}${rest}`,
    tiers: `shuffledp tiers ${groupsOf(asked.groups).map((g) => `--group ${quoted(g)}`).join(" ")} --delta ${quoted(delta)}` +
      `${asked.dummies ? ` --dummies ${quoted(asked.dummies)}` : ""}${rest}`,
  }[tab];
}

export function asPython(asked) {
  const { tab, against } = asked, mechanism = JSON.stringify(asked.mechanism), family = JSON.stringify(withoutLevel(asked.mechanism));
  const n = `int(${number(asked.n)})`, delta = number(asked.delta), aim = `target_epsilon=${number(asked.target)}, target_delta=${delta}`;
  const rest = Object.entries(conditions(asked)).map(([name, value]) => `, ${name}=${(READ[name] ?? JSON.stringify)(value)}`).join("");
  const domain = asked.domain ? `, domain_size=int(${number(asked.domain)})` : "";
  const setting = `from shuffledp import Setting\n\nsetting = Setting(mechanism=${mechanism}, n=${n}${rest})\n`;
  const chosen = asked.bounds.length ? `, bounds=${JSON.stringify(moved(asked))}` : "";
  const groups = groupsOf(asked.groups).map((g) => {
    const end = g.lastIndexOf("=");
    return `Group(${JSON.stringify(g.slice(0, end).trim())}, int(${number(g.slice(end + 1).trim())}))`;
  });
  const dummies = asked.dummies ? `, dummies=int(${number(asked.dummies)})` : "";
  return {
    find: asked.want === "users" ? `from shuffledp import required_users\n\nprint(required_users(${mechanism}, ${aim}${rest}))`
      : `from shuffledp import calibrate_epsilon0\n\nprint(calibrate_epsilon0(${family}, n=${n}, ${aim}${rest}))`,
    answer: `${setting}print(setting.accountant().epsilon_report(${delta}))`,
    curve: `from shuffledp import curve\n\nfound = curve(${against === "epsilon0" ? family : mechanism}, ${JSON.stringify(against)}` +
      (against === "users" ? "" : `, n=${n}`) + (OWN.includes(against) ? `, target_delta=${delta}` : "") + `${chosen}${rest})\nfound.plot()`,
    plan: `from shuffledp import plan\n\nfound = plan(n=${n}, ${aim}${domain}, task=${JSON.stringify(asked.task)}${rest})\nprint(found.best.ours.randomizer)`,
    rounds: asked.rounds ? `${setting}print(setting.accountant().epsilon_report(${delta}))`
      : `from shuffledp import max_rounds\n${setting}print(max_rounds(setting.accountant(), target_epsilon=${number(asked.budget)}, target_delta=${delta}).times)`,
    tiers: `from shuffledp import Group, MixedAccountant\n\naccountant = MixedAccountant([${groups.join(", ")}]${dummies}${rest})\nprint(accountant.epsilons(${delta}))`,
  }[tab];
}
