// A reply as received, with the parsed answer marked; or with its Markdown and LaTeX rendered, from text nodes only.
const escaped = (content) => content.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// Where the answer was read: the last place in the reply with the same words, or with the text of its choice.
function readPlace(row, output) {
  const answer = text(row, "answer");
  if (!answer || text(row, "source") === "reasoning") return null;
  const choice = answer.length === 1 ? texts(row, "choices")[answer.charCodeAt(0) - 65] : "";
  for (const wanted of [answer, choice].filter(Boolean)) {
    const flags = wanted.length === 1 ? "gu" : "giu";
    const found = [...output.matchAll(new RegExp(`(?<![\\p{L}\\p{N}])${escaped(wanted)}(?![\\p{L}\\p{N}])`, flags))].pop();
    if (found) return [found.index, found.index + found[0].length];
  }
  return null;
}

function rawReply(row, output, find) {
  const place = output.length <= 100000 ? readPlace(row, output) : null;
  if (!place) return foreign(output, find, "reply");
  const title = `the answer, read by rule ${plain(text(row, "rule") ?? "")}`;
  const made = element("pre", { className: "foreign reply", dir: "auto" });
  made.append(shown(output.slice(0, place[0]), find), element("mark", { className: "read", title }, shown(output.slice(...place))), shown(output.slice(place[1]), find));
  return made;
}

const MARKUP = /\*\*\S|^#{1,6} |`|\\boxed\b|\\[(\[]|\$[^$\s]|^\s*[-*] \S|^\s*\d+\. \S|^\|.*\|/m;
const MOST_DRAWN = 60000;
const INLINE = /\*\*([^*\n]+)\*\*|`([^`\n]+)`|\$\$([^$]+)\$\$|\$([^$\n]+)\$|\\\(([^\n]*?)\\\)|\\\[([^]*?)\\\]/g;
const MATH = {
  times: "×", cdot: "·", div: "÷", pm: "±", le: "≤", leq: "≤", ge: "≥", geq: "≥", ne: "≠", neq: "≠", approx: "≈", infty: "∞", pi: "π", alpha: "α",
  beta: "β", gamma: "γ", delta: "δ", theta: "θ", lambda: "λ", mu: "μ", sigma: "σ", omega: "ω", Delta: "Δ", Omega: "Ω", sum: "∑", int: "∫",
  sqrt: "√", rightarrow: "→", to: "→", Rightarrow: "⇒", circ: "°", angle: "∠", degree: "°", quad: " ", left: "", right: "", "%": "%", "$": "$", ",": " ",
};

function math(content) {
  const flat = content
    .replace(/\\d?frac\{([^{}]*)\}\{([^{}]*)\}/g, "($1)/($2)")
    .replace(/\\(?:boxed|text|mathrm|mathbf)\{([^{}]*)\}/g, "$1")
    .replace(/\\([A-Za-z]+|[%$,])/g, (whole, name) => (Object.hasOwn(MATH, name) ? MATH[name] : whole));
  const made = element("span", { className: "math" });
  let from = 0;
  for (const match of flat.matchAll(/([\^_])(?:\{([^{}]*)\}|(\w))/g)) {
    made.append(shown(flat.slice(from, match.index)), element(match[1] === "^" ? "sup" : "sub", {}, shown(match[2] ?? match[3])));
    from = match.index + match[0].length;
  }
  made.append(shown(flat.slice(from)));
  return made;
}

function inline(content) {
  const made = document.createDocumentFragment();
  let from = 0;
  for (const match of content.matchAll(INLINE)) {
    const [whole, bold, code, ...formulas] = match;
    const formula = formulas.find((one) => one !== undefined);
    made.append(shown(content.slice(from, match.index)));
    made.append(bold !== undefined ? element("b", {}, shown(bold)) : code !== undefined ? element("code", {}, shown(code)) : math(formula));
    from = match.index + whole.length;
  }
  made.append(shown(content.slice(from)));
  return made;
}

// Headings, lists, fences and paragraphs; any other line stays text.
function drawn(content) {
  const made = element("div", { className: "foreign reply drawn", dir: "auto" });
  let list = null, fence = null;
  for (const line of content.split("\n")) {
    if (/^\s*```/.test(line)) { if (fence) fence = null; else made.append(fence = element("pre", { className: "foreign" })); continue; }
    if (fence) { fence.append(shown(`${line}\n`)); continue; }
    const item = line.match(/^\s*(?:[-*]|(\d+)\.) (.*)$/), heading = line.match(/^#{1,6} (.*)$/);
    if (item) {
      if (!list) made.append(list = element("ul"));
      list.append(element("li", {}, ...(item[1] ? [`${item[1]}. `] : []), inline(item[2])));
      continue;
    }
    list = null;
    if (line.trim()) made.append(element("p", {}, heading ? element("b", {}, inline(heading[1])) : inline(line.replace(/\\boxed\{([^{}]*)\}/g, "$$\\boxed{$1}$$"))));
  }
  return made;
}

function reply(row, output, find) {
  const raw = rawReply(row, output, find);
  if (!MARKUP.test(output) || output.length > MOST_DRAWN) return section("Reply", raw);
  const button = element("button", { type: "button", className: "switch", "aria-pressed": "false" }, "Draw its Markdown");
  let shownNow = raw;
  button.addEventListener("click", () => {
    const isRaw = shownNow === raw, next = isRaw ? drawn(output) : raw;
    shownNow.replaceWith(next);
    shownNow = next;
    button.setAttribute("aria-pressed", String(isRaw));
  });
  return [...section("Reply", button), raw];
}

// The request to try by hand: the key is a variable, and images are named instead of included.
function curl(row) {
  if (!data.request) return [];
  const images = value(row, "images").map((at) => ({ type: "image_url", image_url: { url: `data:...;base64,<bytes of ${plain(data.images[at][0])}>` } }));
  const content = [...images, { type: "text", text: text(row, "prompt") ?? "" }];
  const system = text(row, "system");
  const messages = [...(system ? [{ role: "system", content: system }] : []), { role: "user", content }];
  const body = JSON.stringify({ ...data.request.body, messages }, null, 1).replaceAll("'", "'\\''");
  const address = data.request.url.replaceAll("'", "'\\''");
  const command = `curl '${address}' \\\n  -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' \\\n  -d '${body}'`;
  const examples = texts(row, "shots").length ? [element("p", { className: "aside" }, "The worked examples before it are left out here.")] : [];
  return [element("details", { className: "more request" }, element("summary", {}, "The request as curl"), foreign(command, ""), ...examples)];
}

// A cell of a CSV with the filtered questions; none is a formula for a spreadsheet.
function cell(content) {
  const plainText = Array.isArray(content) ? content.join(" / ") : String(content ?? "");
  const isFormula = /^[=+@\t\r-]/.test(plainText) && Number.isNaN(Number(plainText));
  return `"${(isFormula ? `'${plainText}` : plainText).replaceAll('"', '""')}"`;
}

function exported(row) {
  const numbers = ["id", "score", "prompt_tokens", "completion_tokens", "latency_s"].map((name) => [name, value(row, name)]);
  const strings = ["variant", "status", "answer", "prompt", "output", "reasoning"].map((name) => [name, text(row, name)]);
  const note = notes ? { note: noteOf(row)?.note ?? "", tags: tagsOf(row) } : {};
  return { ...Object.fromEntries([...numbers, ...strings]), ...(data.scored || texts(row, "references").length ? {} : { score: null }), references: texts(row, "references"), ...note };
}

// The entries of a question: one, or in a comparison one for each run.
const exportedRuns = (row) => (data.sides ? runsOf(row).flatMap((one, at) => (one ? [{ run: data.sides[at], ...exported(one) }] : [])) : [exported(row)]);

const FORMS = {
  csv: ["text/csv", (rows) => [Object.keys(rows[0] ?? {}), ...rows.map(Object.values)].map((cells) => cells.map(cell).join(",")).join("\r\n")],
  jsonl: ["application/jsonl", (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join("")],
};

function download(form) {
  const [type, made] = FORMS[form];
  const url = URL.createObjectURL(new Blob([made(matching.flatMap(exportedRuns))], { type }));
  element("a", { href: url, download: `questions.${form}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
