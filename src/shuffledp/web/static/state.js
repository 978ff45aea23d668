// The question, which the address bar holds, and where its views are.

export const TABS = ["answer", "curve", "plan", "rounds", "tiers"];
export const FIELDS = [
  "mechanism", "n", "delta", "corrupted", "view", "against", "task", "domain", "target", "times", "budget", "groups",
];
export const state = {
  tab: "answer", mechanism: "krr(k=10, epsilon0=2)", n: "10000", delta: "1e-6", corrupted: "", view: "multiset",
  against: "users", task: "frequency", domain: "10", target: "0.1", times: "52", budget: "1", bounds: [],
  groups: "krr(k=10, epsilon0=1)=9000\nkrr(k=10, epsilon0=4)=1000",
};
export const START = { ...state };

export const isCorrupted = () => state.corrupted !== "" && Number(state.corrupted) !== 0;
export const isSum = () => state.view === "sum";
// The tiers as they are written, one per line.
export const groupsOf = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

// Which numbers a view leaves out of account, in words.
export function leftOut(tab) {
  const sum = isSum() && tab === "tiers";
  return {
    view: sum ? "Tiers are about shuffled reports: what holds for them holds for their sum." : "",
  };
}
