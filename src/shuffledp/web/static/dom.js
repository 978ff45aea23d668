// Elements of the page.

export const $ = (id) => document.getElementById(id);

export function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

export function bar(part) {
  const cell = element("td", "", { class: "bar", "aria-hidden": "true" });
  const inner = element("i");
  inner.style.width = `${Math.max(0, Math.min(1, part)) * 100}%`;
  cell.append(inner);
  return cell;
}

export function big(place, guarantee, lower) {
  $(place).replaceChildren(`ε ≤ ${guarantee} `, element("small", `no analysis can prove less than ${lower}`));
}
