// Questions to the server, and its refusals.

export class Refused extends Error {
  constructor({ error, field }) { super(error); this.field = field; }
}

export async function ask(name, question, signal) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(question)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== "" && one !== undefined) query.append(key, one);
  }
  const response = await fetch(`/api/${name}?${query}`, { signal });
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) throw new Refused(answer);
  return answer;
}
