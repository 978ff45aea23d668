// Files: what is opened on the page, and what is saved from it.

import { Refused } from "./ask.js";
import { $, element } from "./dom.js";
import { CONDITIONS, START, state } from "./state.js";

const MOST = 8_000_000; // bytes, as the server says, too

export function download(content, name) {
  const address = URL.createObjectURL(content);
  element("a", "", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// What cannot be had is said on the page instead of being saved.
export async function fetched(address) {
  const response = await fetch(address).catch(() => null);
  if (response?.ok) return response.blob();
  throw new Refused(await response?.json() ?? { error: "the server does not answer" });
}

async function told(file) {
  if (file.size > MOST) throw new Error(`a file must have at most ${MOST.toLocaleString("en")} bytes`);
  const response = await fetch("/api/open", { method: "POST", body: file }).catch(() => null);
  const answer = await response?.json().catch(() => null) ?? { error: "the server does not answer" };
  if (!response?.ok) throw new Refused(answer);
  return answer;
}

// The setting becomes the question; what it leaves open is looked for.
function take({ setting, delta }) {
  for (const name of CONDITIONS) state[name] = String(setting[name] ?? START[name]);
  for (const name of ["mechanism", "n"]) if (name in setting) state[name] = String(setting[name]);
  if (delta) state.delta = delta.replace("E", "e");
  state.dummies = String(setting.dummies ?? "");
  if (setting.groups) state.groups = setting.groups.map((g) => `${g.mechanism}=${g.n}`).join("\n");
  if (!setting.groups && !("n" in setting && "mechanism" in setting)) state.want = "n" in setting ? "noise" : "users";
  state.tab = setting.groups ? "tiers" : "n" in setting && "mechanism" in setting ? "answer" : "find";
}

async function open(file, whenTaken) {
  if (!file) return;
  $("opened").hidden = false;
  $("opened-error").textContent = "";
  $("opened-facts").replaceChildren();
  $("opened-title").textContent = `${file.name} is being read …`;
  try {
    const found = await told(file);
    $("opened-title").textContent = found.file === "setting" ? `${file.name}: a setting, now the question below.` : `${file.name}: the ${found.file} was checked, and its setting is now the question below.`;
    $("opened-facts").replaceChildren(...(found.verified ?? []).flatMap(([label, value]) => [element("dt", label), element("dd", value)]));
    take(found);
    whenTaken();
  } catch (error) {
    $("opened-title").textContent = "";
    $("opened-error").textContent = `${file.name}: ${error.message}`;
  }
}

// Open what is chosen or dropped.
export function listenToFiles(whenTaken) {
  $("file").addEventListener("change", async () => {
    await open($("file").files[0], whenTaken);
    $("file").value = "";
  });
  $("opened-close").addEventListener("click", () => { $("opened").hidden = true; $("file").focus(); });
  const holds = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => { if (holds(event)) { event.preventDefault(); document.body.classList.add("dropping"); } });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
  document.addEventListener("drop", (event) => {
    if (!holds(event)) return;
    event.preventDefault();
    document.body.classList.remove("dropping");
    open(event.dataTransfer.files[0], whenTaken);
  });
}
