// The list of words and mechanisms.

import { ask } from "./ask.js";
import { $, element } from "./dom.js";
import { load } from "./mechanisms.js";
import { allTerms, NAMES } from "./words.js";

$("words").append(...allTerms());
$("mechanisms").append(...(await load(ask)).flatMap((m) => [
  element("dt", m.name in NAMES ? `${NAMES[m.name]} (${m.name})` : m.name), element("dd", `${m.meaning} Example: ${m.example ?? "a class of one's own"}`),
]));
$("mechanisms").removeAttribute("aria-busy");
