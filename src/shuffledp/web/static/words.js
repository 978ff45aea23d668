// Plain names, help for the fields of mechanisms, and what the terms of the page mean.

import { element } from "./dom.js";

export const NAMES = {
  krr: "randomized response", blh: "binary local hashing", olh: "local hashing", rappor: "RAPPOR, a bit per value",
  oue: "optimised bits, one per value", unary: "bits with two probabilities", hadamard: "Hadamard response", subset: "subset selection",
  laplace: "Laplace noise", gaussian: "normal noise", discrete_laplace: "whole-number noise", matrix: "any table of probabilities",
  any_pure_ldp: "anything with level ε0", joint: "several attributes together", parallel: "a mixture of mechanisms",
  one_of: "one attribute of several", subsample: "only some take part",
};

export const PARAMETERS = {
  k: "How many values there are to choose from.", epsilon0: "The level of one report: the smaller, the more noise.",
  domain_size: "How many values there are; empty for arbitrarily many.", buckets: "How many hash values there are; empty for the best number.",
  p: "How likely the bit of the true value is 1.", q: "How likely any other bit is 1.", size: "How many values a report names; empty for the best number.",
  domain: "Whether values are 0 or 1, or anything between.", grid: "Reports are rounded to multiples of this; empty for none.",
  sigma: "The standard deviation of the noise.", bound: "Values are whole numbers from 0 to this.",
};

const TERMS = {
  "ε0": "The privacy level of one report alone, whose sender is known: any two inputs give it probabilities that differ by at most a factor e^ε0.",
  epsilon0: "The privacy level of one report alone: the same as ε0.",
  "ε": "The privacy level of what the analyst sees: the smaller, the less it tells about one person.",
  "δ": "A small probability that is allowed besides: far below one over the number of users.",
  "differentially private": "Whatever one person does to their data changes the probability of every event by a factor of at most e^ε, and at most δ besides.",
  "shuffled reports": "All reports in random order: nobody sees who sent which.",
  "neighbouring datasets": "Two collections of data that differ in what one person says: what must not be told apart.",
  "no analysis can prove less": "An attack on certain datasets reveals this much, so every correct guarantee is at least this large.",
  corrupted: "The analyst knows or sets their reports, so they hide nobody.",
  "after the fact": "Chosen one after the other, once the shuffled reports were seen.",
  "better than chance": "The rate of true alarms less that of false ones, of anyone who tells which of two values is yours.",
  "standard deviation": "About two of three estimates are no further off than this.",
  blanket: "The part of every report that does not depend on the data, in which reports hide.",
  "swap bound": "A bound over what the reports of all others can be; often within a tenth of a percent of an attack.",
};
const PATTERN = new RegExp(Object.keys(TERMS).sort((a, b) => b.length - a.length).join("|"), "g");

// Give the first of each term inside an element its meaning, to be read by pointing, by touch and by keyboard.
export function explain(place) {
  const seen = new Set([...place.querySelectorAll(".term")].map((term) => term.textContent));
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT), texts = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(".term, summary, button, select, textarea, a, .chart, h1")) texts.push(walker.currentNode);
  for (const text of texts) {
    const parts = [];
    let done = 0;
    for (const { 0: term, index } of text.data.matchAll(PATTERN)) {
      if (seen.has(term)) continue;
      seen.add(term);
      parts.push(text.data.slice(done, index), element("span", term, { class: "term", tabindex: "0", "aria-description": TERMS[term], "data-tip": TERMS[term] }));
      done = index + term.length;
    }
    if (parts.length) text.replaceWith(...parts, text.data.slice(done));
  }
}

// All terms, for the list of words.
export const allTerms = () => Object.entries(TERMS).flatMap(([term, meaning]) => [element("dt", term), element("dd", meaning)]);
