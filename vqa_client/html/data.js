// The page's data: rows of numbers that refer to one table of texts; foreign text only becomes text nodes.
const $ = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

let data, column, answered, variantsOf, severalVariants, templateLength;

function readData(json) {
  data = JSON.parse(json);
  column = Object.fromEntries(data.columns.map((name, at) => [name, at]));
  answered = new Set(data.answered);
  variantsOf = null;
  templateLength = sharedStart();
  severalVariants = data.rows.some((row) => text(row, "variant") !== text(data.rows[0], "variant"));
}

const value = (row, name) => row[column[name]];
const text = (row, name) => { const at = value(row, name); return at === null ? null : data.strings[at]; };
// The records of one question: the row's own, and in a comparison those of the other runs, null if a run was not asked.
const runsOf = (row) => [row, ...(data.sides ? value(row, "others") : [])];
const scoresOf = (row) => runsOf(row).filter(Boolean).map((one) => value(one, "score"));
const differs = (row) => (row.differs ??= Math.max(...scoresOf(row)) - Math.min(...scoresOf(row)) > 1e-9);
const texts = (row, name) => value(row, name).map((at) => data.strings[at]);
const key = (row) => `${value(row, "id")}\u0000${text(row, "variant")}`;

// The length of the text that all prompts begin with: the list of questions would repeat it in every row.
function sharedStart() {
  const prompts = [...new Set(data.rows.map((row) => text(row, "prompt")))].filter(Boolean);
  let length = prompts.length > 1 ? prompts[0].length : 0;
  for (const prompt of prompts) {
    let at = 0;
    while (at < length && prompt[at] === prompts[0][at]) at++;
    length = at;
  }
  const shared = length ? prompts[0].slice(0, length) : "";
  return Math.max(...["\n", ": "].map((end) => (shared.includes(end) ? shared.lastIndexOf(end) + end.length : 0)));
}

function outcome(row) {
  if (!row) return "none";
  if (!answered.has(text(row, "status"))) return "failed";
  if (!data.scored) return "unknown";
  const score = value(row, "score");
  return score >= 1 ? "right" : score > 0 ? "partial" : "wrong";
}

const SIGNS = { right: "✓", partial: "◐", wrong: "✗", failed: "!", unknown: "·", none: "–" };
const OUTCOME_WORDS = { right: "right", partial: "partly right", wrong: "wrong", failed: "no reply", unknown: "no known answer", none: "not asked" };
const number = (n) => n.toLocaleString("en-US");
const counted = (n) => `${number(n)} question${n === 1 ? "" : "s"}`;
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const words = (name) => name.replaceAll("_", " ");

// Several people's answers: each distinct one once, with its count.
function votes(answers, separator) {
  const counts = new Map();
  for (const one of answers) counts.set(one, (counts.get(one) ?? 0) + 1);
  if (counts.size === answers.length) return answers.join(separator);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([one, n]) => `${one} x${n}`).join(", ");
}

function otherVariants(row) {
  if (!variantsOf) {
    variantsOf = new Map();
    for (const one of data.rows) {
      const id = value(one, "id");
      if (!variantsOf.has(id)) variantsOf.set(id, []);
      variantsOf.get(id).push(one);
    }
  }
  return variantsOf.get(value(row, "id"));
}

// Characters that UNSEEN matches (see unseen.py) are shown by their codes: they may hide text of a reply.
const code = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
const plain = (content) => content.replace(UNSEEN, (found) => `[${code(found)}]`);

function shown(content, find = "") {
  const fragment = document.createDocumentFragment();
  let from = 0;
  for (const match of content.matchAll(UNSEEN)) {
    appendMarked(fragment, content.slice(from, match.index), find);
    fragment.append(element("span", { className: "control", title: "an invisible character" }, code(match[0])));
    from = match.index + match[0].length;
  }
  appendMarked(fragment, content.slice(from), find);
  return fragment;
}

function appendMarked(into, content, find) {
  const lower = content.toLowerCase();
  let from = 0;
  if (find && lower.length === content.length) {
    for (let at = lower.indexOf(find); at >= 0; at = lower.indexOf(find, from)) {
      into.append(content.slice(from, at), element("mark", {}, content.slice(at, at + find.length)));
      from = at + find.length;
    }
  }
  into.append(content.slice(from));
}
