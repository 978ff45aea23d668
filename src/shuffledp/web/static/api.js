// The list of all questions, made from its OpenAPI description, and a form to try each.

import { ask } from "./ask.js";
import { $, element } from "./dom.js";

function fieldOf(path, { name, description, required, schema }) {
  const id = `${path}-${name}`, row = element("div", "", { class: "field" });
  const input = schema.type === "array"
    ? element("textarea", "", { id, rows: "2", placeholder: "one per line" }) : element("input", "", { id, autocomplete: "off" });
  const label = element("label", name, { for: id });
  label.append(element("span", required ? " required" : " optional", { class: "hint" }));
  row.append(label, input, element("p", description, { class: "hint" }));
  return { row, read: () => [name, schema.type === "array" ? input.value.split("\n").filter(Boolean) : input.value.trim()] };
}

function questionOf([path, { get }]) {
  const name = path.split("/").pop(), whole = element("details"), title = element("summary");
  title.append(element("code", `GET ${path}`), ` ${get.summary}`);
  const fields = (get.parameters ?? []).map((parameter) => fieldOf(name, parameter));
  const button = element("button", "Ask", { type: "button" }), answer = element("pre", "", { role: "status" });
  button.addEventListener("click", async () => {
    answer.textContent = "computing …";
    answer.textContent = await ask(name, Object.fromEntries(fields.map((f) => f.read())), undefined)
      .then((found) => JSON.stringify(found, null, 2), (error) => `${error.field ?? "error"}: ${error.message}`);
  });
  whole.append(title, ...fields.map((f) => f.row), ...(name === "report" ? [] : [button]), answer);
  return whole;
}

const { info, paths } = await ask("openapi.json", {});
$("questions").append(...Object.entries(paths).map(questionOf));
$("questions").removeAttribute("aria-busy");
$("version").textContent = `${info.title} ${info.version}`;
