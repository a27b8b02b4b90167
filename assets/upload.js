// Uploads files: one is checked first, reviewed, and then published; several are checked and published one after another. The contents of a file are only ever inserted as text.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const make = (...given) => clueline.element(...given);
    const ROWS = 10000; // bad rows to request
    const SHOWN = 100; // bad rows shown on the page
    const NEW = "+"; // value of "a new dataset" in the menu of datasets
    const MANY = 20; // with more bad rows, the page shows their kinds first
    const MIB = 2 ** 20;
    const FOLDED = new Set(["agreement", "align", "classes", "format", "map", "mapping", "pattern", "repeats"]); // hints to fields that are folded away
    // Buttons that answer what the server asks, by the key of its hint: their words, and the field with the value to choose.
    const CURES = {
        percent: [["Read the confidences as percentages", "confidence_scale", "percent"]],
        unit: [["Read the confidences as 0 to 1", "confidence_scale", ""]],
        repeats: [["Each question was answered several times", "repeats", "samples"], ["Each answer was graded several times", "repeats", "gradings"]],
        agreement: [["Take the share of answers that agree as confidence", "respondents", "agreement"]],
    };
    const WAITS = "waiting", FINE = "can be published", DONE = "published"; // states of one of several files

    const number = (value) => clueline.whole(value);
    const count = (...given) => clueline.count(...given);
    const short = (value) => clueline.short(value);
    const text = (value) => (value === null || value === undefined || value === "" ? "–" : String(value));

    function table(label, head, rows, numbers) {
        const cell = (tag, content, place) => make(tag, numbers && numbers.includes(place) ? { class: "number" } : {}, content);
        return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
            make("table", {},
                make("thead", {}, make("tr", {}, ...head.map((name, place) => cell("th", name, place)))),
                make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((value, place) => cell("td",
                    value instanceof Node ? value : make("span", { class: "guess" }, text(value)), place)))))));
    }

    // Returns a cell of CSV that no spreadsheet treats as a formula.
    function csvCell(value) {
        let cell = value === null || value === undefined ? "" : String(value);
        if (/^[\s]*[=+\-@\t\r]/.test(cell)) cell = `'${cell}`;
        return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
    }

    function save(name, lines) {
        const content = lines.map((line) => line.map(csvCell).join(",")).join("\r\n") + "\r\n";
        const link = make("a", { download: name });
        link.href = URL.createObjectURL(new Blob([content], { type: "text/csv;charset=utf-8" }));
        link.click();
        window.setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }

    function build(host) {
        if (host.dataset.built) return;
        host.dataset.built = "yes";
        const config = JSON.parse(host.dataset.form);
        const state = { file: null, request: null, trial: null, checked: null, decided: new Map(), columns: [], words: "", batch: [], isTrial: false, sent: "", found: new Map() };

        // -- the form
        const file = make("input", { type: "file", id: "upload-file", multiple: true });
        const chosen = make("span", { class: "guess", id: "upload-chosen" }, "Choose files, or drop them here");
        const drop = make("div", { class: "drop" }, make("label", { for: "upload-file" }, chosen), file,
            make("span", { class: "note" }, `Any format listed on the page Datasets; a folder as a zip; up to ${number(config.most)} MiB`));
        const dataset = make("select", { id: "upload-dataset", class: "text" },
            make("option", { value: "" }, "found from the file"), make("option", { value: NEW }, "a new dataset"),
            ...config.datasets.map(([value, title]) => make("option", { value: value }, title)));
        const box = (id) => make("input", { type: "text", id: id, class: "text", maxlength: "500", autocomplete: "off",
            placeholder: "as the file says" });
        const model = box("upload-model");
        const elicitation = box("upload-elicitation");
        const scale = make("select", { id: "upload-scale", class: "text" },
            make("option", { value: "" }, "0 to 1, such as 0.85"), make("option", { value: "percent" }, "0 to 100, such as 85 %"));
        const respondents = make("select", { id: "upload-respondents", class: "text" },
            make("option", { value: "" }, "several answers of a model"), make("option", { value: "1" }, "people who answered"),
            make("option", { value: "agreement" }, "several answers; the share that agrees is the confidence"));
        const copies = make("select", { id: "upload-copies", class: "text" },
            make("option", { value: "" }, "say so, and import them"), make("option", { value: "1" }, "refuse the file"));
        const repeats = make("select", { id: "upload-repeats", class: "text" }, make("option", { value: "" }, "is a mistake"),
            make("option", { value: "samples" }, "was answered several times"), make("option", { value: "gradings" }, "was graded several times"));
        const align = box("upload-align");
        align.placeholder = "their ids; or content, or -1";
        const classes = box("upload-classes");
        classes.placeholder = "A, B, C";
        const tags = box("upload-tags");
        tags.placeholder = "reasoning=yes, released=2024-05-13";
        const format = make("select", { id: "upload-format", class: "text" }, make("option", { value: "" }, "detected from the content"),
            ...config.formats.map((key) => make("option", { value: key }, key)));
        const id = box("upload-id");
        id.setAttribute("pattern", "[a-z0-9-]+");
        const title = box("upload-title");
        const pattern = box("upload-pattern");
        pattern.placeholder = "Confidence: {percent}";
        const map = make("select", { id: "upload-map", class: "text" }, make("option", { value: "" }, "stay scores"),
            ...config.maps.map((key) => make("option", { value: key }, `become probabilities: ${key} map`)));
        const mapping = box("upload-mapping"), kept = box("upload-save-mapping");
        mapping.placeholder = "its name; none is used unasked";
        kept.placeholder = "a short name";
        const fields = { dataset: dataset, model: model, elicitation: elicitation, confidence_scale: scale, respondents: respondents,
            repeats: repeats, align: align, refuse_same_answers: copies, classes: classes, format: format, map: map, mapping: mapping, save_mapping: kept,
            confidence_pattern: pattern, tags: tags, id: id, title: title };
        // Returns the keys of the address for the values in the fields.
        function keys() {
            const { id, title, tags, ...given } = Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, field.value.trim()]));
            if (given.respondents === "agreement") Object.assign(given, { respondents: "", agreement: "1" });
            for (const [name, value] of tagsOf(tags)) given["tag." + name] = value;
            if (given.dataset === NEW) return { ...given, dataset: id, title };
            return { ...given, dataset: given.dataset || state.found.get(state.file) || "" };
        }
        // Returns names and values of tags, which are separated by commas. A value can contain further equals signs.
        function tagsOf(written) {
            const parts = written.split(",").map((part) => part.trim()).filter(Boolean);
            return parts.map((part) => { const [name, ...value] = part.split("="); return [name.trim(), value.join("=").trim()]; });
        }
        const labelled = (label, input) => make("div", { class: "field" }, make("label", { for: input.id }, label), input);
        const described = make("div", { class: "fields", hidden: true }, labelled("Id of the dataset", id), labelled("Title", title));
        dataset.addEventListener("change", () => { described.hidden = dataset.value !== NEW; });
        const check = make("button", { type: "button", class: "quiet", id: "upload-check", disabled: true }, "Check the file");
        const publish = make("button", { type: "button", class: "quiet primary", id: "upload-publish", disabled: true }, "Publish");
        const cancel = make("button", { type: "button", class: "quiet", id: "upload-cancel", hidden: true }, "Cancel");
        const bar = make("progress", { max: "1", hidden: true, "aria-label": "Sent" });
        const notice = make("p", { class: "status-message", role: "status", id: "upload-message" });
        const result = make("div", { id: "upload-result" });
        const more = make("details", { id: "upload-more" }, make("summary", {}, "More about the file: repeated answers, scores, tags"),
            make("div", { class: "fields" }, labelled("The column sample tells apart", respondents), labelled("A question with several rows", repeats), labelled("Match questions by", align), labelled("Confidence in the answer", pattern),
                labelled("Scores that are no probabilities", map), labelled("If these answers are stored already", copies), labelled("Classes", classes),
                labelled("Format", format), labelled("Tags", tags), labelled("Columns as in the mapping", mapping),
                labelled("Keep the columns as a mapping", kept)));
        host.append(drop,
            make("div", { class: "fields" }, labelled("Dataset", dataset), described, labelled("Model", model),
                labelled("Elicitation", elicitation), labelled("Confidence is written as", scale)),
            more,
            make("div", { class: "actions" }, check, publish, cancel, bar), notice, result);

        function say(message, bad) {
            notice.textContent = message;
            notice.className = bad ? "status-message bad" : "status-message";
        }
        const settings = () => JSON.stringify(Object.values(fields).map((field) => field.value.trim()));
        function refresh() {
            const busy = state.request !== null;
            check.disabled = busy || !state.file;
            const ready = state.batch.length ? state.batch.some((part) => part.state === FINE) : state.trial;
            publish.disabled = busy || !ready || state.checked !== settings();
            cancel.hidden = bar.hidden = !busy;
            file.disabled = busy;
        }

        // -- sending
        // Returns what has to be changed before the file can be sent, and the field to change; null if nothing has to.
        function obstacle() {
            const token = document.getElementById("token");
            if (token && !clueline.api.token()) return ["This server asks for a token. Enter it in the field above, then check the file.", token];
            const wrong = tagsOf(tags.value).find(([name, value]) => !name || !value);
            if (!wrong) return null;
            return [`“${wrong.filter(Boolean).join("=")}” is not a tag. Write a name and a value, such as reasoning=yes.`, tags];
        }

        // Sends the file; returns whether it was sent.
        function send(trying, done, refused) {
            const stopped = obstacle();
            if (stopped) {
                say(stopped[0], true);
                stopped[1].focus();
                return false;
            }
            if (state.file.size > config.most * MIB) {
                const reason = `This file has ${number(Math.ceil(state.file.size / MIB))} MiB; the limit of this server is ` +
                    `${number(config.most)} MiB. Split it, or import it on the command line.`;
                if (refused) refused(413, { error: { message: reason } });
                else say(reason, true);
                return Boolean(refused);
            }
            const form = new FormData();
            const now = state.sent = settings();
            for (const [key, value] of Object.entries(keys())) {
                if (value) form.append(key, value);
            }
            for (const [role, column] of state.columns) form.append("column." + role, column);
            if (state.words) form.append("words", state.words);
            if (trying) form.append("dry_run", "1");
            form.append("rows", String(ROWS));
            const grades = [...state.decided.values()].filter((grade) => grade.correct !== null).map((grade) =>
                ({ question_id: grade.doubt.question_id, guess: grade.doubt.guess, correct: grade.correct }));
            if (grades.length) form.append("grades", JSON.stringify(grades));
            form.append("file", state.file, state.file.name);
            let whole = false;
            bar.value = 0;
            say("Sending…", false);
            const request = clueline.api.send("POST", "/api/v1/datasets", form, (status, answer, response) => {
                if (state.request !== request) return;
                state.request = null;
                if (status === 200 || status === 201) {
                    done(answer, now);
                } else {
                    (refused || refuse)(status, answer, response);
                }
                refresh();
            }, (event) => {
                if (!event.lengthComputable) return;
                bar.value = event.loaded / event.total;
                whole = event.loaded === event.total;
                if (whole) bar.removeAttribute("value");
                say(whole ? (trying ? "The server is reading and checking it…" : "The server is reading and storing it…") :
                    `Sending… ${Math.floor((100 * event.loaded) / event.total)} %`, false);
            });
            state.request = request;
            state.isTrial = trying;
            cancel.onclick = () => {
                request.cancelled = true;
                state.request = null;
                request.abort();
                say(whole && !trying ? "Cancelled, but the server had the whole file. The list of runs shows whether it was published. " +
                    "Sending it again does no harm." : "Cancelled; nothing was stored.", false);
                refresh();
                check.focus();
            };
            refresh();
            return true;
        }

        function refuse(status, answer, response) {
            const error = answer.error || {};
            const wait = response && response.getResponseHeader("Retry-After");
            const again = status === 503 && wait ? ` Try again in ${wait} seconds.` : "";
            const lost = status === 0 && state.file ? " If the file was changed after you chose it, choose it again." : "";
            say(clueline.api.explain(status, answer) + again + lost, true);
            const token = document.getElementById("token");
            if ((status === 401 || error.code === "revoked_token") && token) token.focus();
            if (status !== 422 || !Array.isArray(error.rows) || !error.rows.length) return;
            state.trial = null;
            if (findDataset(error, state.file)) {
                dataset.value = state.found.get(state.file);
                send(true, tried);
                return;
            }
            const head = ["file", "line", "column", "value", "reason"];
            more.open ||= error.rows.some((row) => FOLDED.has(row.hint));
            const reason = (row) => (row.hint ? `${row.reason}; ${config.hints[row.hint] || row.remedy}` : row.reason);
            const place = (row) => (row.line === null ? row.row : row.line);
            const every = error.rows.map((row) => [row.file, place(row), row.column, row.value, reason(row)]);
            const example = (row) => [place(row) === null ? "" : row.line === null ? row.row : `line ${row.line}`,
                row.value === null ? "" : `“${row.value}”`].filter(Boolean).join(": ");
            // With many bad rows, one line per kind says more than the rows, which are then folded below.
            const many = error.total > MANY && error.kinds.length < error.rows.length;
            const kinds = many ? table("Kinds of problems", ["Column", "Why", "Times", "For example"], error.kinds.map((kind) => {
                const first = kind.examples[0];
                return [first.column, reason(first), number(kind.count), kind.examples.map(example).filter(Boolean).join(", ")];
            }), [2]) : null;
            const button = make("button", { type: "button", class: "quiet", id: "upload-bad" }, "Download as CSV");
            button.addEventListener("click", () => save("bad-rows.csv", [head, ...every]));
            const listed = error.total > every.length ? ` It has the first ${number(every.length)} of ${number(error.total)}.` : "";
            const rows = [table("Bad rows", ["Line", "Column", "Value", "Why"], every.slice(0, SHOWN).map((row) => row.slice(1)), [0]),
                make("p", { class: "note" }, every.length > SHOWN ? `The first ${SHOWN} are shown. ` : null, button, listed)];
            result.replaceChildren(make("section", { class: "section" },
                make("h2", {}, "What is wrong"),
                ...error.advice.map((sentence) => make("p", {}, sentence)),
                cures(error.rows),
                columnForm(error),
                ...(many ? [kinds, make("details", {}, make("summary", {}, "Row by row"), ...rows)] : rows)));
        }

        // Notes which dataset a file answers that names none: the only one that has its questions or, of several, that of the address.
        // Returns whether there is one.
        function findDataset(error, upload) {
            const asked = (error.rows || []).find((row) => row.hint === "dataset");
            if (!asked || dataset.value || state.found.has(upload)) return false;
            const known = asked.choices.filter((choice) => config.datasets.some(([value]) => value === choice));
            const meant = known.length === 1 ? known[0] : known.find((choice) => choice === config.chosen);
            if (meant) state.found.set(upload, meant);
            return Boolean(meant);
        }

        // Returns buttons that answer what the server asks: each chooses in the form, and checks the file again.
        function cures(rows) {
            const choices = { ...CURES, map: config.maps.map((key) => [`Make probabilities of the scores (${key} map)`, "map", key]) };
            const asked = rows.find((row) => row.hint === "dataset");
            const offered = new Set(asked ? asked.choices : []);
            if (asked && !dataset.value && config.chosen) offered.add(config.chosen); // the dataset that the page is about
            choices.dataset = [...offered].map((choice) => [choice === NEW ? "Make a new dataset of it" :
                `Import it into ${titleOf(choice)}`, "dataset", choice]);
            const hints = [...new Set(rows.map((row) => row.hint).filter(Boolean))];
            const buttons = hints.flatMap((hint) => choices[hint] || []).map(([words, key, value]) => {
                const button = make("button", { type: "button", class: "quiet primary" }, words);
                button.addEventListener("click", () => {
                    if (key === "dataset" && value === NEW) beNew();
                    else fields[key].value = value;
                    send(true, tried);
                });
                return button;
            });
            return buttons.length ? make("div", { class: "actions", id: "upload-cures" }, ...buttons) : "";
        }
        // Chooses that the file becomes a dataset, which is called as the file is; under another name, if this one is taken.
        function beNew() {
            if (dataset.value === "") {
                dataset.value = NEW;
                const stem = state.file.name.toLowerCase().replace(/\..*$/, "").replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
                id.value = `${stem || "dataset"}-2`;
            } else {
                dataset.value = "";
            }
            described.hidden = dataset.value !== NEW;
        }
        const titleOf = (key) => (config.datasets.find(([value]) => value === key) || [key, key])[1];

        // Returns a form for the roles of columns that a table leaves open: its first rows, with a menu over each column.
        function columnForm(error) {
            if (!error.tables || !error.tables.length) return "";
            const [shown] = error.tables;
            const names = Object.keys(shown.cells);
            const rows = error.rows.filter((row) => row.file === shown.file);
            const asked = new Set(rows.flatMap((row) => (row.hint === "column" || row.hint === "repeats" ?
                [...(row.hint === "column" ? [row.column] : []), ...row.choices.map((choice) => choice.slice(choice.indexOf("=") + 1))] : [])));
            const menus = new Map(names.map((name) => {
                const stated = state.columns.find(([, column]) => column === name);
                const role = stated ? stated[0] : shown.roles[name];
                const empty = asked.has(name) && !stated ? [make("option", { value: "" }, "choose")] : [];
                return [name, make("select", { class: asked.has(name) ? "text asked" : "text", "aria-label": `Role of the column ${name}` }, ...empty,
                    ...Object.entries(config.roles).map(([key, meaning]) => make("option", { value: key, title: meaning, selected: !empty.length && key === role }, key)))];
            }));
            const words = rows.filter((row) => row.hint === "words").flatMap((row) => row.choices.map((choice) => [choice.slice(0, choice.lastIndexOf("=")), choice.slice(choice.lastIndexOf("=") + 1)]));
            const shares = words.map(([word, share], place) => [word, make("input", { type: "text", class: "text", id: `upload-word-${place}`, placeholder: "0 to 1, or none", value: share === "?" ? "" : share })]);
            const again = make("button", { type: "button", class: "quiet", id: "upload-columns" }, "Check with these columns");
            again.addEventListener("click", () => {
                const known = new Map(state.columns.map(([role, column]) => [column, role]));
                for (const [name, menu] of menus) if (menu.value && (asked.has(name) || menu.value !== shown.roles[name])) known.set(name, menu.value);
                state.columns = [...known].map(([column, role]) => [role, column]);
                const said = shares.filter(([, input]) => input.value.trim()).map(([word, input]) => `${word}=${input.value.trim()}`);
                state.words = [state.words, ...said].filter(Boolean).join(",");
                send(true, tried);
            });
            const cells = shown.cells[names[0]].map((_, nth) => names.map((name) => shown.cells[name][nth]));
            return make("div", { class: "columns" },
                make("p", {}, `The first rows of ${shown.file}. Say what each column is; those that are not certain have “choose”.`),
                table("First rows", names, [names.map((name) => menus.get(name)), ...cells]),
                !shares.length ? "" : make("div", { class: "fields" }, ...shares.map(([word, input]) => make("div", { class: "field" },
                    make("label", { for: input.id }, `“${word}” means`), input))),
                again);
        }

        // -- what would be imported
        function tried(answer, now) {
            state.trial = answer;
            state.checked = now;
            const runs = answer.runs;
            const fresh = answer.datasets.map((made) => `a new dataset of ${count(made.questions, "question")}, `).join("");
            say(`The file can be published: ${fresh}${count(runs.length, "run")}, ` +
                `${count(runs.reduce((sum, run) => sum + run.items, 0), "answer")}. Nothing is stored yet.`, false);
            for (const [key, field] of [["model", model], ["elicitation", elicitation]]) {
                field.placeholder = `taken as ${[...new Set(runs.map((run) => run[key]))].slice(0, 3).join(", ")}`;
            }
            const name = (id) => { const run = runs.find((candidate) => candidate.run === id) || {}; return `${run.model} · ${run.elicitation}`; };
            const parts = [make("section", { class: "section" },
                make("h2", {}, "What would be imported"),
                dataset.value && state.found.get(state.file) === dataset.value ? make("p", {}, `Its questions are those of ${titleOf(dataset.value)}.`) : null,
                make("p", { class: "note" }, `Read as ${answer.format}; recognised columns: ${answer.columns.join(", ") || "none named"}.`),
                madeDatasets(answer),
                !runs.length ? null : table("Runs", ["Model", "Elicitation", "Answers", "Questions", "Not answered", "Failed", "Rows without an answer", ""], runs.map((run) => [
                    run.model, run.elicitation, number(run.items), number(run.questions), number(run.missing_questions), number(run.failed),
                    Object.entries(run.skipped).map(([why, rows]) => `${number(rows)}: ${why}`).join("; "),
                    run.already_stored ? `already stored${run.gradings.length ? `, gets the grading ${run.gradings.join(", ")}` : ""}` : "new"]), [2, 3, 4, 5]),
                notes(answer),
                ...answer.missing.filter((gap) => gap.total).map((gap) => make("details", {},
                    make("summary", {}, `${count(gap.total, "question")} not answered by ${name(gap.run)}`),
                    make("p", { class: "note guess" }, gap.questions.join(", ") +
                        (gap.total > gap.questions.length ? ` and ${number(gap.total - gap.questions.length)} more` : "")))))];
            if (runs.length) parts.push(make("section", { class: "section" }, make("h2", {}, "First answers, as the server understands them"),
                table("First answers", ["Question", "Clue", "Guess", "Confidence", "Correct", "Graded by"], answer.first.map((row) => [
                    row.question_id, String(row.clue), row.failed ? "no answer: the call failed" : row.guess, short(row.confidence), short(row.correct), row.graded]), [1, 3, 4])));
            parts.push(ranks(answer, name), gradeReview(answer));
            result.replaceChildren(...parts.filter(Boolean));
        }

        function madeDatasets(answer) {
            return answer.datasets.length ? table("Datasets", ["Dataset", "Title", "Questions", "Human teams", "Buzzes", "Votes"],
                answer.datasets.map((made) => [made.dataset, made.title, number(made.questions), number(made.human_teams),
                    number(made.human_buzzes), number(made.votes)]), [2, 3, 4, 5]) : null;
        }

        function notes(answer) {
            more.open ||= answer.remedies.some((row) => FOLDED.has(row.hint));
            const remedies = answer.remedies.map((row) => config.hints[row.hint] || row.remedy);
            const mapping = answer.mapping ? [`Columns as in the mapping ${answer.mapping} of ${answer.mapping_owner}`] : [];
            const lines = [...mapping, ...answer.warnings, ...remedies, ...Object.entries(answer.repaired).map(([what, rows]) => `${count(rows, "row")} repaired: ${what}`)];
            return lines.length ? make("ul", { class: "note" }, ...lines.map((line) => make("li", { class: "guess" }, line))) : null;
        }

        function ranks(answer, name) {
            const board = answer.leaderboard;
            const rows = [];
            for (const row of board.rows) {
                for (const [key, title] of config.metrics) {
                    const cell = row.metrics[key];
                    if (cell && cell.value !== null) {
                        rows.push([name(row.run), answered(row, board), title, short(cell.value), cell.rank === null ? "" : `${number(cell.rank)} of ${number(answer.ranked)}`]);
                    }
                }
            }
            if (!rows.length) return null;
            return make("section", { class: "section" }, make("h2", {}, "How it would rank"),
                ...coverage(board, name).map((line) => make("p", { class: "note" }, line)),
                table("Ranks", ["Run", "Answered", "Metric", "Value", "Rank"], rows, [1, 3, 4]));
        }

        // Returns how much a run answered, such as "60 of 60 questions, 60 of 339 clues".
        function answered(row, board) {
            const questions = `${number(row.answered)} of ${count(board.questions, "question")}`;
            return board.clues === board.questions ? questions : `${questions}, ${number(row.answered_clues)} of ${count(board.clues, "clue")}`;
        }

        // Returns sentences on how missing answers affect the ranking.
        function coverage(board, name) {
            const lines = board.rows.filter((row) => !row.ranked).map((row) =>
                `${name(row.run)} answered ${answered(row, board)}. It would not be ranked${row.unranked ? `: ${row.unranked}` : ""}.`);
            if (board.common !== null) {
                const clues = board.clues === board.questions ? "" : ` (${count(board.common_clues, "clue")})`;
                lines.push(`Runs would be measured on the ${count(board.common, "question")}${clues} that all ranked runs answered.`);
            }
            return lines;
        }

        // -- uncertain grades to review
        function gradeReview(answer) {
            for (const doubt of answer.uncertain.guesses) {
                const key = JSON.stringify([doubt.question_id, doubt.guess]);
                if (!state.decided.has(key)) state.decided.set(key, { doubt: doubt, correct: null });
            }
            const all = [...state.decided.values()];
            if (!all.length) return null;
            const list = make("ul", { class: "grade-review", "aria-label": "Uncertain grades" });
            const left = make("span", { class: "lead" });
            const tell = () => { left.textContent = `${number(all.filter((grade) => grade.correct === null).length)} of ${number(all.length)} left`; };
            const rows = all.map((grade, place) => {
                const verdict = make("span", { class: "verdict" });
                const row = make("li", { tabindex: place ? "-1" : "0" }, verdict,
                    make("span", { class: "guess name" }, grade.doubt.guess), " for ", make("span", { class: "guess" }, grade.doubt.answer),
                    make("div", { class: "note" }, `${grade.doubt.question_id}, clue ${grade.doubt.clues.map((clue) => clue + 1).join(", ")}: ${grade.doubt.reason}`));
                const mark = () => {
                    verdict.textContent = grade.correct === null ? `as graded: ${grade.doubt.correct ? "correct" : "wrong"}` :
                        grade.correct ? "+ correct" : "− wrong";
                    row.classList.toggle("decided", grade.correct !== null);
                };
                const decide = (correct, on) => { grade.correct = correct; mark(); tell(); if (on) move(place + 1); };
                row.append(make("span", { class: "choose" }, ...[["Correct", true], ["Wrong", false]].map(([label, correct]) => {
                    const button = make("button", { type: "button", class: "quiet", tabindex: "-1" }, label);
                    button.addEventListener("click", () => decide(correct, false));
                    return button;
                })));
                row.addEventListener("keydown", (event) => {
                    if (event.ctrlKey || event.metaKey || event.altKey) return;
                    const act = {
                        y: () => decide(true, true), n: () => decide(false, true), u: () => decide(null, false),
                        ArrowDown: () => move(place + 1), ArrowUp: () => move(place - 1),
                    }[event.key];
                    if (!act) return;
                    event.preventDefault();
                    act();
                });
                mark();
                return row;
            });
            function move(place) {
                const next = rows[Math.max(0, Math.min(rows.length - 1, place))];
                for (const row of rows) row.tabIndex = row === next ? 0 : -1;
                next.focus();
            }
            list.append(...rows);
            tell();
            const more = answer.uncertain.total > answer.uncertain.guesses.length ?
                ` These are the first ${number(answer.uncertain.guesses.length)} of ${number(answer.uncertain.total)}; the rest stay as graded.` : "";
            return make("section", { class: "section" }, make("h2", {}, "Uncertain grades ", left),
                make("p", { class: "note" }, "Keys: y correct, n wrong, u as graded, arrows to move. Decisions are stored with the run." + more),
                list);
        }

        // -- published
        function published(answer) {
            const selected = state.trial ? state.trial.leaderboard.selection.dataset : null;
            const name = encodeURIComponent(Array.isArray(selected) ? selected[0] : selected || dataset.value);
            const fresh = answer.datasets.length || answer.runs.some((run) => !run.already_stored || run.gradings.length);
            say(fresh ? "Published." : "Everything was already there; nothing changed.", false);
            state.trial = null;
            result.replaceChildren(make("section", { class: "section" },
                make("ul", { id: "upload-published" }, ...answer.datasets.map((made) => make("li", {},
                    make("span", { class: "name" }, made.title), ": ",
                    make("a", { href: `/questions?dataset=${encodeURIComponent(made.dataset)}` }, "its questions"))),
                ...answer.runs.map((run) => make("li", {},
                    make("span", { class: "name" }, `${run.model} · ${run.elicitation}`), ` (run ${run.run}): `,
                    make("a", { href: `/?dataset=${name}` }, "on the leaderboard"), ", ",
                    make("a", { href: `/?dataset=${name}&run=${encodeURIComponent(run.run)}` }, "by itself"), ", ",
                    make("a", { href: `/runs?dataset=${name}` }, "among the runs"), ", where it can be withdrawn"))),
                notes(answer)));
        }

        // -- several files
        // Checks each file, or publishes those that can be, one after another. What is refused stays out, and stops no other.
        function sendAll(trying) {
            if (trying) for (const part of state.batch) if (part.state !== DONE) Object.assign(part, { state: WAITS, says: "" });
            const left = state.batch.filter((part) => part.state === (trying ? WAITS : FINE));
            const now = settings();
            const next = () => {
                result.replaceChildren(batchTable());
                const part = left.shift();
                if (!part) return finish(trying, now);
                state.file = part.upload;
                const became = (what, says) => { Object.assign(part, { state: what, says: says }); next(); };
                send(trying, (answer) => became(trying ? FINE : DONE, inWords(answer)), (status, answer) => {
                    if (!findDataset(answer.error || {}, part.upload)) { became("refused", reasons(status, answer)); return; }
                    left.unshift(part);
                    next();
                });
            };
            next();
        }
        function finish(trying, now) {
            const those = (what) => state.batch.filter((part) => part.state === what).length;
            state.checked = now;
            const refused = those("refused") ? ` ${count(those("refused"), "file")} refused.` : "";
            say(trying ? `${count(those(FINE), "file")} can be published.${refused} Nothing is stored yet.` :
                `${count(those(DONE), "file")} published.${refused}`, false);
            refresh();
        }
        function inWords(answer) {
            const made = answer.datasets.map((dataset) => `dataset ${dataset.title}`);
            const runs = answer.runs.map((run) => `${run.model} · ${run.elicitation}: ${count(run.items, "answer")}${run.stored ? ", already stored" : ""}`);
            return [...made, ...runs, ...answer.warnings].join("; ");
        }
        function reasons(status, answer) {
            const error = answer.error || {};
            const rows = (error.rows || []).slice(0, 3).map((row) => [row.line === null ? row.row : `line ${row.line}`, row.reason].filter(Boolean).join(": "));
            return [...(error.advice || []), ...(rows.length ? rows : [clueline.api.explain(status, answer)]),
                error.total > rows.length ? `${number(error.total - rows.length)} more` : ""].filter(Boolean).join("; ");
        }
        function batchTable() {
            return table("Files", ["File", "State", "What is in it, or why not"], state.batch.map((part) => [part.upload.name, make("span", {}, part.state), part.says]));
        }
        function takeAll(uploads) {
            Object.assign(state, { trial: null, decided: new Map(), columns: [], words: "" });
            forgetFound();
            state.batch = [...uploads].map((upload) => ({ upload: upload, state: WAITS, says: "" }));
            chosen.textContent = count(uploads.length, "file");
            sendAll(true);
        }

        // -- events
        function take(uploads) {
            const [upload] = uploads;
            if (!upload || (state.request && !state.isTrial)) return;
            giveUp();
            if (uploads.length > 1) { takeAll(uploads); return; }
            state.batch = [];
            forgetFound();
            state.file = upload;
            state.trial = null;
            state.decided = new Map();
            state.columns = [];
            state.words = "";
            model.placeholder = elicitation.placeholder = "as the file says";
            chosen.textContent = `${upload.name} (${upload.size < MIB ? `${number(upload.size)} bytes` : `${number(Math.round(upload.size / MIB))} MiB`})`;
            result.replaceChildren();
            refresh();
            send(true, tried);
        }
        function forgetFound() {
            if (state.found.get(state.file) === dataset.value) dataset.value = "";
            state.found = new Map();
        }
        const checkNow = () => (state.batch.length ? sendAll(true) : send(true, tried));
        function giveUp() {
            if (!state.request) return;
            state.request.cancelled = true;
            state.request.abort();
            state.request = null;
        }
        // Checks again after a choice has changed. A check of what was chosen before is given up; a publication is not.
        function checkAgain() {
            if (!state.file || (state.request && !state.isTrial) || state.sent === settings()) return;
            giveUp();
            const stopped = obstacle();
            if (stopped) say(stopped[0], true);
            else checkNow();
            refresh();
        }
        check.addEventListener("click", checkNow);
        publish.addEventListener("click", () => (state.batch.length ? sendAll(false) : send(false, published)));
        file.addEventListener("click", () => { file.value = ""; }); // so that the same file can be chosen again after it was fixed
        file.addEventListener("change", () => take([...file.files]));
        for (const field of Object.values(fields)) {
            field.addEventListener("input", () => {
                if (field === dataset) state.decided = new Map();
                if ((state.trial || state.batch.length) && state.checked !== settings()) say("The file is checked again when you leave the field.", false);
                refresh();
            });
            field.addEventListener("change", checkAgain);
        }
        for (const kind of ["dragenter", "dragover"]) {
            drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
        }
        drop.addEventListener("dragleave", () => drop.classList.remove("over"));
        drop.addEventListener("drop", (event) => {
            event.preventDefault();
            drop.classList.remove("over");
            if (!state.request || state.isTrial) file.files = event.dataTransfer.files;
            take([...event.dataTransfer.files]);
        });
        window.addEventListener("beforeunload", (event) => { if (state.request && host.isConnected) event.preventDefault(); });
    }

    document.addEventListener("arrived", () => document.querySelectorAll("#upload").forEach(build));
})();
