// The question, which the address bar holds, and which tab takes what of it.

export const TABS = ["find", "answer", "curve", "plan", "rounds", "tiers"];
export const CONDITIONS = ["rounds", "at_most", "corrupted", "corrupted_adaptively", "view", "bound"];
export const FIELDS = [
  "mechanism", "n", "delta", ...CONDITIONS, "want", "target", "against", "task", "domain", "budget", "groups", "dummies",
];
export const state = {
  tab: "find", mechanism: "krr(k=10, epsilon0=2)", n: "10000", delta: "1e-6",
  rounds: "", at_most: "", corrupted: "", corrupted_adaptively: "", view: "multiset", bound: "best",
  want: "users", target: "0.1", against: "users", task: "frequency", domain: "10", budget: "1", bounds: [],
  groups: "krr(k=10, epsilon0=1)=9000\nkrr(k=10, epsilon0=4)=1000", dummies: "",
};
export const START = { ...state };

export const isSum = () => state.view === "sum";
// The tiers as they are written, one per line.
export const groupsOf = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

const TAKES = { curve: CONDITIONS.filter((name) => name !== "bound"), tiers: ["corrupted"] };
const TURNS = ["rounds", "at_most"];
const takes = ({ tab, against, rounds }, name) => (TAKES[tab] ?? CONDITIONS).includes(name)
  && !(tab === "curve" && against === "rounds" && TURNS.includes(name)) && !(tab === "rounds" && !rounds && name === "at_most");

// What the setting says besides mechanism and users, where it is not as usual and the tab takes it.
export const conditions = (asked) =>
  Object.fromEntries(CONDITIONS.filter((name) => asked[name] !== START[name] && takes(asked, name)).map((name) => [name, asked[name]]));

const WHY = {
  tiers: { view: "Tiers are about shuffled reports: what holds for them holds for their sum.", other: "Tiers are about one round of users who may be corrupted in advance: this does not count here." },
  rounds: { other: "How many rounds fit is asked for people who take part in all of them: this does not count here." },
  curve: { bound: "Curves show each bound by itself: this does not count here.", other: "Rounds vary along this curve: this does not count here." },
};

// What is set and does not count in this tab, in words.
export function leftOut(asked) {
  const ignored = CONDITIONS.filter((name) => asked[name] !== START[name] && !takes(asked, name));
  return Object.fromEntries(ignored.map((name) => [name, WHY[asked.tab][name] ?? WHY[asked.tab].other]));
}
