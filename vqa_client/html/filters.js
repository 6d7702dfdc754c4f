// Which questions are shown: the state is in the address, so that a link restores it.
const OUTCOMES = { "": "All", wrong: "Wrong", right: "Right", partial: "Partly", failed: "No reply" };
const IN_RUNS = { "": "All", differ: "Differ", same: "Same score" };
const AGAINST = { higher: (gap) => gap > 1e-9, lower: (gap) => gap < -1e-9, same: (gap) => Math.abs(gap) <= 1e-9 };
const ORDERS = {
  "": ["in order", null],
  differ: ["those that differ first", (a, b) => differs(b) - differs(a)],
  slow: ["slowest first", (a, b) => value(b, "latency_s") - value(a, "latency_s")],
  long: ["longest replies first", (a, b) => (value(b, "completion_tokens") ?? -1) - (value(a, "completion_tokens") ?? -1)],
  low: ["lowest score first", (a, b) => value(a, "score") - value(b, "score")],
  tried: ["most attempts first", (a, b) => value(b, "attempts") - value(a, "attempts")],
};
// The rows and columns of the table of choices; "-" is a reply without a choice.
const LETTERS = { right: (row) => texts(row, "references")[0], chosen: (row) => text(row, "answer") ?? "-" };
const SIDES = { differs: "differs from the rule", raised: "right by the judge alone", lowered: "right by the rule alone" };
const MOST_CHOICES = 120;
let state = new URLSearchParams();
let matching = [];
let haystacks = new Map();

function haystack(row) {
  if (!haystacks.has(row)) {
    const found = [value(row, "id"), text(row, "variant"), ...texts(row, "references")];
    for (const one of runsOf(row).filter(Boolean)) {
      for (const name of ["system", "prompt", "output", "reasoning", "answer", "rationale"]) found.push(text(one, name) ?? "");
      if (value(one, "error")) found.push(data.strings[value(one, "error")[0]]);
    }
    haystacks.set(row, found.join("\n").toLowerCase());
  }
  return haystacks.get(row);
}

function conditions() {
  const made = [];
  const wantedOutcome = state.get("outcome"), status = state.get("status"), find = (state.get("find") ?? "").toLowerCase();
  if (wantedOutcome) made.push((row) => (data.sides ? differs(row) === (wantedOutcome === "differ") : outcome(row) === wantedOutcome));
  (data.sides ?? []).forEach((_, at) => {
    const wanted = state.get(`side.${at}`), against = AGAINST[state.get(`gap.${at}`)];
    if (wanted) made.push((row) => { const kind = outcome(runsOf(row)[at]); return kind === wanted || (wanted === "not" && !["right", "none"].includes(kind)); });
    if (against) made.push((row) => { const one = runsOf(row)[at]; return one && against(value(one, "score") - value(row, "score")); });
  });
  if (status) made.push((row) => text(row, "status") === status);
  data.fields.forEach((field, at) => {
    const wanted = state.get(`by.${field.name}`);
    if (wanted !== null) made.push((row) => {
      const group = data.strings[value(row, "groups")[at]];
      return group === wanted || group.split(", ").includes(wanted);
    });
  });
  for (const [name, of] of Object.entries(LETTERS)) {
    const wanted = state.get(name);
    if (wanted !== null) made.push((row) => of(row) === wanted);
  }
  const judge = state.get("judge");
  if (judge !== null) {
    const wanted = rowsOfJudge(judge);
    made.push((row) => wanted.has(row));
  }
  const noted = state.get("noted"), tag = state.get("tag");
  if (noted && notes) made.push((row) => Boolean(noteOf(row)?.note || tagsOf(row).length) === (noted === "yes"));
  if (tag && notes) made.push((row) => tagsOf(row).includes(tag));
  if (find) made.push((row) => haystack(row).includes(find));
  return made;
}

// The rows on which a judge and the rule differ, by "NAME/SIDE".
function rowsOfJudge(place) {
  const at = place.lastIndexOf("/"), side = place.slice(at + 1), judge = data.judges.find((one) => one.name === place.slice(0, at));
  const sides = side === "differs" ? ["raised", "lowered"] : [side];
  return new Set(sides.flatMap((one) => judge?.[one] ?? []).map((number) => data.rows[number]));
}

function filter() {
  const tests = conditions();
  matching = data.rows.filter((row) => tests.every((test) => test(row)));
  const order = ORDERS[state.get("order") ?? ""]?.[1];
  if (order) matching.sort(order);
  const shares = runsOf(matching[0] ?? data.rows[0] ?? []).map((_, at) => {
    const scores = matching.map((row) => runsOf(row)[at]).filter(Boolean).map((one) => value(one, "score"));
    return `${data.sides ? `${plain(data.sides[at])} ` : ""}${percent(scores.reduce((sum, one) => sum + one, 0) / scores.length)}`;
  });
  const forms = new Set(matching.map((row) => text(row, "variant"))).size;
  const share = forms === 1 && data.scored ? ` · accuracy here ${shares.join(", ")}` : "";
  const several = forms > 1 ? ` in ${number(forms)} variants` : "";
  $("count").textContent = matching.length === data.rows.length
    ? `${counted(data.rows.length)}${several}`
    : `${number(matching.length)} of ${counted(data.rows.length)}${several}${share}`;
}

function set(name, wanted) {
  if (wanted) state.set(name, wanted); else state.delete(name);
  applyState();
  remember();
}

function remember() {
  try { history.replaceState(null, "", `#${state}`); } catch { /* some viewers forbid it; links still work */ }
}

function select(label, name, choices) {
  const made = element("select", { "aria-label": label, title: label });
  made.dataset.state = name;
  made.append(element("option", { value: "" }, label));
  for (const [choice, name] of choices) made.append(element("option", { value: choice }, plain(name)));
  made.addEventListener("change", () => set(name, made.value));
  return made;
}

function buildFilters() {
  $("outcomes").replaceChildren($("outcomes").querySelector("legend"));
  for (const [wanted, label] of Object.entries(data.sides ? IN_RUNS : OUTCOMES)) {
    if (wanted === "partial" && !data.rows.some((row) => outcome(row) === "partial")) continue;
    if (["right", "wrong"].includes(wanted) && !data.scored) continue;
    const radio = element("input", { type: "radio", name: "outcome", value: wanted });
    radio.addEventListener("change", () => set("outcome", wanted));
    $("outcomes").append(element("label", {}, radio, label));
  }
  const statuses = [...new Set(data.rows.map((row) => text(row, "status")))];
  $("selects").replaceChildren();
  (data.sides ?? []).forEach((label, at) => {
    const kinds = [["right", "right"], ["not", "not right"], ["partial", "partly right"], ["wrong", "wrong"], ["failed", "no reply"]];
    $("selects").append(select(`${plain(label)}: any`, `side.${at}`, kinds.map(([kind, name]) => [kind, `${label}: ${name}`])));
    const ways = [["higher", "scores higher"], ["lower", "scores lower"], ["same", "scores the same"]];
    if (at) $("selects").append(select(`${plain(label)} against ${plain(data.sides[0])}`, `gap.${at}`, ways.map(([way, name]) => [way, `${label} ${name}`])));
  });
  if (statuses.length > 1 && !data.sides) $("selects").append(select("any status", "status", statuses.map((s) => [s, words(s)])));
  for (const field of data.fields) {
    if (field.values.length < 2 || field.values.length > MOST_CHOICES || (data.sides && field.name === "rule")) continue;
    $("selects").append(select(`any ${plain(words(field.name))}`, `by.${field.name}`, field.values.map((v) => [v, v])));
  }
  if (data.letters.length && !data.sides) for (const [name, of] of Object.entries(LETTERS)) {
    const values = [...new Set(data.rows.map(of))].filter((one) => data.letters.includes(one) || one === "-").sort();
    $("selects").append(select(`any ${name} choice`, name, values.map((one) => [one, `${name}: ${one}`])));
  }
  const judged = data.judges.flatMap(({ name }) => Object.entries(SIDES).map(([side, meaning]) => [`${name}/${side}`, `${name}: ${meaning}`]));
  if (judged.length) $("selects").append(select("any judge", "judge", judged));
  noteFilters();
  $("selects").append(select("in order", "order", Object.entries(ORDERS).filter(([name]) => name && (data.sides || name !== "differ")).map(([name, [label]]) => [name, label])));
}

function showState() {
  if ($("find").value !== (state.get("find") ?? "")) $("find").value = state.get("find") ?? "";
  for (const radio of $("outcomes").querySelectorAll("input")) radio.checked = radio.value === (state.get("outcome") ?? "");
  for (const one of $("selects").querySelectorAll("select")) {
    one.value = state.get(one.dataset.state) ?? "";
    one.classList.toggle("set", one.value !== "");
  }
}
