// The details of one question.
function section(title, ...content) {
  return [element("h4", {}, title), ...content];
}

function foreign(content, find, extra = "") {
  return element("pre", { className: `foreign ${extra}`, dir: "auto" }, shown(content, find));
}

function links(row) {
  const permanent = new URLSearchParams({ q: value(row, "id") });
  if (text(row, "variant")) permanent.set("v", text(row, "variant"));
  const link = element("a", { href: `#${permanent}`, title: "A link to this question" }, "Link");
  const step = (by, label, name) => {
    const made = element("button", { type: "button", "aria-label": name }, label);
    made.addEventListener("click", () => choose(current + by));
    return made;
  };
  return element("div", { className: "stepper" }, step(-1, "↑", "Previous question"), step(1, "↓", "Next question"), link);
}

// A link to the whole image, which opens over the page; with a modifier key the browser opens the file.
function opening(href, at, all, ...content) {
  const link = element("a", { href: href || "#", target: "_blank", rel: "noopener noreferrer", title: "Read the whole image" }, ...content);
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openImage(all, all.indexOf(at));
  });
  return link;
}

function picture(at, all) {
  const [name, sha256, size, width, height, transforms, href, stored, note] = data.images[at], source = data.strings[stored];
  const made = element("li");
  if (source || href) {
    const image = element("img", { loading: "lazy", src: source || href, alt: `image ${plain(name)}`, decoding: "async" });
    const link = opening(href, at, all, marked(at, image));
    image.addEventListener("error", () => link.replaceWith("the file can't be loaded"));
    made.append(link);
  }
  const title = href ? opening(href, at, all, shown(name)) : shown(name);
  const facts = [width ? `${width} × ${height}` : "", size < 1000 ? `${size} bytes` : `${number(Math.round(size / 1000))} KB`].filter(Boolean).join(", ");
  made.append(title, ` ${facts} `, element("span", { className: "digest", title: sha256 }, sha256.slice(0, 12)));
  if (needle?.at === at) made.append(element("div", { className: "strong" }, "has the needle"));
  if (transforms.length) made.append(element("div", {}, "sent after: ", shown(transforms.join(", "))));
  if (note) made.append(element("div", {}, note));
  return made;
}

// The images of a question at reading size, over the page; arrow keys turn them.
let opened = [], openedAt = 0;

function openImage(all, at) {
  opened = all;
  openedAt = Math.max(0, Math.min(at, all.length - 1));
  const [name, , , , , , href, stored] = data.images[opened[openedAt]], source = data.strings[stored];
  const image = element("img", { src: href || source, alt: `image ${plain(name)}` });
  if (href && source) image.addEventListener("error", () => { image.src = source; }, { once: true });
  $("sheet").replaceChildren(marked(opened[openedAt], image));
  $("image-title").replaceChildren(shown(name), ` · ${openedAt + 1} of ${opened.length}`);
  if (!$("lightbox").open) $("lightbox").showModal();
  $("sheet").scrollTop = 0;
}

const TURNS = { ArrowRight: 1, ArrowLeft: -1, j: 1, k: -1 };

function onImageKey(event) {
  if (event.key in TURNS) { event.preventDefault(); openImage(opened, openedAt + TURNS[event.key]); }
  if (event.key === "z") $("lightbox").classList.toggle("wide-image");
}

const MOST_PICTURES = 24;

// The needle's line on its page, in shares of the page; only for pages that were sent unchanged.
let needle = null;

function marked(at, image) {
  const [, , , width, height, transforms] = data.images[at];
  if (!needle || needle.at !== at || !width || !height || transforms.length) return image;
  const [left, top, right, bottom] = needle.box, line = element("span", { className: "needle-line", title: "the needle" });
  const shares = { left: left / width, top: top / height, width: (right - left) / width, height: (bottom - top) / height };
  for (const [side, share] of Object.entries(shares)) line.style[side] = `${100 * share}%`;
  return element("span", { className: "needle-page" }, image, line);
}

function pictures(row) {
  let all = value(row, "images");
  const [place, ...box] = value(row, "needle") ?? [];
  needle = box.length ? { at: all[place], box } : null;
  if (needle) all = [needle.at, ...all.filter((_, number) => number !== place)];
  if (!all.length) return [];
  const one = (at) => picture(at, all);
  const list = element("ul", { className: all.length > 3 ? "pictures many" : "pictures" }, ...all.slice(0, MOST_PICTURES).map(one));
  const parts = section(all.length === 1 ? "Image" : `${all.length} images`, list);
  if (all.length > MOST_PICTURES) {
    const more = element("button", { type: "button", className: "more" }, `Show ${all.length - MOST_PICTURES} more`);
    more.addEventListener("click", () => { list.append(...all.slice(MOST_PICTURES).map(one)); more.remove(); });
    parts.push(more);
  }
  if (value(row, "cut_pages")) parts.push(element("p", { className: "aside" }, `${value(row, "cut_pages")} further pages were not shown (--max_pages).`));
  return parts;
}

function pairs(className, rows) {
  const list = element("dl", { className });
  for (const [name, content] of rows) {
    if (content === null || content === undefined || content === "") continue;
    list.append(element("dt", {}, name), element("dd", { dir: "auto" }, content instanceof Node ? content : shown(String(content))));
  }
  return list;
}

// A letter with the text of its choice.
function lettered(row, answer) {
  const choice = texts(row, "choices")[(answer ?? "").charCodeAt(0) - 65];
  return choice && answer.length === 1 ? `${answer}. ${choice}` : answer;
}

function verdicts(row) {
  const number = data.rows.indexOf(row);
  return data.judges.flatMap(({ name, raised, lowered }) => [
    ...(raised.includes(number) ? [[name, "right; wrong by the rule"]] : []),
    ...(lowered.includes(number) ? [[name, "wrong; right by the rule"]] : []),
  ]);
}

function answers(row) {
  const references = texts(row, "references").map((one) => lettered(row, one));
  const rivals = texts(row, "rivals").map((one) => lettered(row, one));
  const source = text(row, "source") === "reasoning" ? "the reasoning" : "";
  return pairs("answers", [
    ["answer", lettered(row, text(row, "answer")) ?? "none"],
    [references.length > 1 ? "references" : "reference", votes(references, "  /  ")],
    ["read by rule", text(row, "rule")],
    ["rivals", rivals.join("  /  ")],
    ["read from", source],
    ["rationale", text(row, "rationale")],
    ...verdicts(row),
  ]);
}

function failure(row) {
  const error = value(row, "error");
  if (!error) return [];
  const [message, code, body, hint] = error.map((one, at) => (at === 1 || one === null ? one : data.strings[one]));
  const parts = section("Why there is no reply", foreign(message, "", "reply"));
  if (code) parts.push(element("p", { className: "aside" }, `HTTP ${code}`));
  if (hint) parts.push(element("p", { className: "aside" }, shown(hint)));
  if (body) parts.push(element("details", {}, element("summary", {}, "Raw server response"), foreign(body, "")));
  return parts;
}

function scores(row) {
  const known = data.metrics.map((name, at) => [words(name), value(row, "parts")[at]]).filter(([name, score]) => score !== null && !name.startsWith("n "));
  const groups = data.fields.map((field, at) => [field, data.strings[value(row, "groups")[at]]]).filter(([field]) => field.name !== "rule");
  const chips = groups.map(([field, group]) => element("a", { href: `#${new URLSearchParams({ [`by.${field.name}`]: group })}`, title: "Show all questions of this group" }, shown(`${words(field.name)}: ${group}`)));
  return [
    ...(known.length ? section("Scores", element("p", {}, known.map(([name, score]) => `${name} ${+score.toFixed(3)}`).join("  ·  "))) : []),
    ...(chips.length ? section("Groups", element("div", { className: "chips" }, ...chips)) : []),
  ];
}

function cost(row) {
  const parts = [];
  const add = (amount, unit) => { if (amount) parts.push(`${number(amount)} ${unit}`); };
  add(value(row, "latency_s"), "s");
  for (const [name, of] of [["prompt_tokens", "prompt"], ["completion_tokens", "reply"]]) {
    add(value(row, name), `${of} token${value(row, name) === 1 ? "" : "s"}`);
  }
  if (value(row, "attempts") > 1) add(value(row, "attempts"), "attempts");
  if (text(row, "finish")) parts.push(`finish reason ${text(row, "finish")}`);
  if (text(row, "cluster")) parts.push(`cluster ${text(row, "cluster")}`);
  return parts.length ? [element("p", { className: "aside more" }, shown(parts.join("  ·  ")))] : [];
}

function siblings(row) {
  const others = otherVariants(row);
  if (others.length < 2) return [];
  const chips = others.slice(0, 100).map((one) => {
    const kind = outcome(one), link = new URLSearchParams({ q: value(one, "id"), v: text(one, "variant") });
    return element("a", { href: `#${link}`, "aria-current": String(one === row) },
      element("span", { className: `is-${kind}`, role: "img", "aria-label": OUTCOME_WORDS[kind] }, SIGNS[kind]), " ", shown(text(one, "variant") || "as it is"));
  });
  return section("The same question in every variant", element("div", { className: "chips" }, ...chips));
}

function badge(row) {
  const kind = outcome(row), status = text(row, "status"), score = value(row, "score");
  const label = `${SIGNS[kind]} ${OUTCOME_WORDS[kind]}${status === "ok" ? "" : ` (${words(status)})`}${kind === "partial" ? `, score ${score}` : ""}`;
  return element("span", { className: `badge is-${kind}` }, label);
}

// The reply to a question and how it was parsed.
function replySections(row, find) {
  const reasoning = text(row, "reasoning"), output = text(row, "output");
  return [
    answers(row),
    ...failure(row),
    ...(output === null ? [] : output ? reply(row, output, find) : section("Reply", element("p", { className: "aside" }, "empty"))),
    ...(reasoning ? [element("details", { className: "reasoning more" }, element("summary", {}, `Reasoning, ${number(reasoning.length)} characters`), foreign(reasoning, find))] : []),
  ];
}

// The runs of a comparison side by side; a run's own prompt or images are shown if they differ.
function sideBySide(row, find) {
  return element("div", { className: "beside" }, ...runsOf(row).map((one, at) => {
    const made = element("div", {}, element("h4", {}, shown(data.sides[at])));
    if (!one) { made.append(element("p", { className: "aside" }, "not asked")); return made; }
    made.append(element("p", { className: "aside" }, badge(one)), ...replySections(one, find));
    if (value(one, "prompt") !== value(row, "prompt") && text(one, "prompt")) made.append(element("details", {}, element("summary", {}, "Another prompt"), foreign(text(one, "prompt").trimEnd(), find)));
    if (String(value(one, "images")) !== String(value(row, "images"))) made.append(...pictures(one));
    made.append(...cost(one));
    return made;
  }));
}

function sheet(row, find = "") {
  const prompt = text(row, "prompt"), system = text(row, "system"), shots = texts(row, "shots"), variant = text(row, "variant");
  const title = element("h3", {}, shown(value(row, "id")));
  const alone = data.sides ? [] : [badge(row)];
  return [
    title,
    element("p", { className: "aside" }, ...alone, shown(variant ? `${data.sides ? "" : "  ·  "}${variant}` : "")),
    ...(data.sides ? [sideBySide(row, find)] : replySections(row, find)),
    ...(system ? section("System message", foreign(system.trimEnd(), find)) : []),
    ...(shots.length ? section("Worked examples before it", element("p", {}, shown(shots.join("  ·  ")))) : []),
    ...(prompt ? section("Prompt", foreign(prompt.trimEnd(), find)) : []),
    ...pictures(row), ...scores(row), ...siblings(row), ...(data.sides ? [] : cost(row)), ...curl(row),
  ];
}

function showDetail(row) {
  $("detail").scrollTop = 0;
  if (!row) {
    $("detail").replaceChildren(element("p", { className: "empty" }, data.rows.length ? "No question matches." : "No question has a record yet."));
    return;
  }
  $("detail").replaceChildren(links(row), ...sheet(row, (state.get("find") ?? "").toLowerCase()), ...noteBox(row));
}
