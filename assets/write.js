// The writer's desk: the form for typing a question, and its storage in the browser. The server draws what guessers answer.
// Each question has its own key in the browser's storage, so that two tabs do not undo each other's work.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const make = clueline.element;
    const PREFIX = "clueline-question.", SHOWN = "clueline-question";
    const TYPING = 350; // ms without a key press before guessers are asked
    const FIELDS = ["text", "answer", "category", "subcategory"];
    const blank = () => ({ id: Date.now().toString(36) + Math.random().toString(36).slice(2, 8), made: Date.now(), text: "", answer: "", category: "", subcategory: "" });

    // -- the questions in this browser, or only in this tab if the browser stores nothing
    const unkept = new Map();
    let keeps = true;
    function stored() {
        const questions = new Map();
        try {
            for (const key of Object.keys(window.localStorage).filter((key) => key.startsWith(PREFIX))) {
                try {
                    const question = JSON.parse(window.localStorage.getItem(key));
                    if (question && FIELDS.every((field) => typeof question[field] === "string")) questions.set(question.id, question);
                } catch (e) { /* not written by this script */ }
            }
        } catch (e) { keeps = false; }
        unkept.forEach((question, id) => questions.set(id, question));
        return [...questions.values()].sort((one, other) => one.made - other.made);
    }
    function keep(question) {
        try {
            window.localStorage.setItem(PREFIX + question.id, JSON.stringify(question));
            unkept.delete(question.id);
            keeps = true;
        } catch (e) {
            unkept.set(question.id, question);
            keeps = false;
        }
    }
    function forget(question) {
        unkept.delete(question.id);
        try { window.localStorage.removeItem(PREFIX + question.id); } catch (e) { /* it was not stored */ }
    }
    // The question that this tab shows.
    let shown = null;
    function current() {
        const questions = stored();
        let id = shown && shown.id;
        try { id = id || window.sessionStorage.getItem(SHOWN); } catch (e) { /* falls back to the last question */ }
        return questions.find((question) => question.id === id) || (shown && shown.id === id ? shown : null) || questions.at(-1) || blank();
    }
    function show(question) {
        shown = question;
        try { window.sessionStorage.setItem(SHOWN, question.id); } catch (e) { /* this tab still knows it */ }
    }

    // Returns the draft that address.js sends along.
    clueline.draft = function () {
        if (!shown) show(current());
        return { text: shown.text, answer: shown.answer };
    };

    let typing = 0;
    function askSoon() {
        window.clearTimeout(typing);
        typing = window.setTimeout(() => { if (window.location.pathname === "/write") clueline.redraw(); }, TYPING);
    }

    // -- the form
    function build(host) {
        show(current());
        const field = (name, label, box) => make("div", { class: `field write-${name}` }, make("label", { for: `write-${name}` }, label), box);
        const box = (name, more) => make("input", { type: "text", id: `write-${name}`, class: "text", autocomplete: "off", ...more });
        const boxes = {
            text: make("textarea", { id: "write-text", class: "text", rows: "10", spellcheck: "true", "aria-describedby": "write-hint" }),
            answer: box("answer", { spellcheck: "false", placeholder: "Frankenstein [accept The Modern Prometheus; prompt on Shelley's novel]" }),
            category: box("category", { maxlength: "200" }),
            subcategory: box("subcategory", { maxlength: "200" }),
        };
        const list = make("ol", { class: "write-questions", "aria-label": "Questions of this draft" });
        const notice = make("p", { class: "status-message", role: "status" });
        const undo = make("button", { type: "button", class: "quiet", hidden: true }, "Undo");
        const another = make("button", { type: "button", class: "quiet" }, "New question");
        const remove = make("button", { type: "button", class: "quiet" }, "Delete this question");
        let removed = null;

        function name(question) {
            const text = (question.answer || question.text).replace(/<\/?[A-Za-z][^<>]*>/g, "").trim(); // without markup
            return text ? (text.length > 60 ? `${text.slice(0, 59)}…` : text) : "empty";
        }
        function refresh() {
            const questions = stored();
            if (!questions.some((question) => question.id === shown.id)) questions.push(shown);
            list.replaceChildren(...questions.map((question) => {
                const button = make("button", { type: "button", class: "quiet", "aria-current": question.id === shown.id ? "true" : null, title: question.answer || question.text }, name(question));
                button.addEventListener("click", () => turn(question));
                return make("li", {}, button);
            }));
            if (!keeps) notice.textContent = "This browser stores nothing. Save your questions before you leave.";
        }
        function fill() {
            for (const [name, input] of Object.entries(boxes)) if (input.value !== shown[name]) input.value = shown[name];
            refresh();
        }
        function turn(question) {
            show(question);
            notice.textContent = "";
            undo.hidden = true;
            fill();
            clueline.redraw();
        }
        for (const [name, input] of Object.entries(boxes)) {
            input.addEventListener("input", () => {
                shown = { ...shown, [name]: input.value };
                keep(shown);
                show(shown);
                refresh();
                if (name === "text" || name === "answer") askSoon();
            });
        }
        another.addEventListener("click", () => {
            if (shown.text.trim() || shown.answer.trim()) turn(blank());
            boxes.text.focus();
        });
        remove.addEventListener("click", () => {
            removed = shown;
            forget(shown);
            const left = stored();
            turn(left.at(-1) || blank());
            notice.textContent = `Deleted: ${name(removed)}.`;
            undo.hidden = false;
            undo.focus();
        });
        undo.addEventListener("click", () => {
            keep(removed);
            turn(removed);
            boxes.text.focus();
        });
        // Called when another tab has changed a question.
        const changed = (event) => {
            if (!host.isConnected) { window.removeEventListener("storage", changed); return; }
            if (event.key === PREFIX + shown.id && event.newValue) { show(JSON.parse(event.newValue)); fill(); askSoon(); } else refresh();
        };
        window.addEventListener("storage", changed);
        host.replaceChildren(
            field("text", "Question, hardest clue first", boxes.text),
            make("p", { id: "write-hint", class: "note" }, "Each sentence is a clue: at most 2,000 words in 100 sentences."),
            field("answer", "Answer line", boxes.answer),
            make("div", { class: "fields" }, field("category", "Category", boxes.category), field("subcategory", "Subcategory", boxes.subcategory)),
            make("div", { class: "actions" }, another, remove, undo), notice, list);
        fill();
    }

    // -- saving
    const named = { id: "draft", title: "Draft" }; // values of the fields, kept while the page is redrawn
    function buildSave(host) {
        const { mode } = host.dataset;
        document.querySelectorAll(".api-token").forEach(clueline.api.field);
        const id = make("input", { type: "text", id: "write-id", class: "text", autocomplete: "off", spellcheck: "false", value: named.id });
        const title = make("input", { type: "text", id: "write-title", class: "text", autocomplete: "off", maxlength: "200", value: named.title });
        id.addEventListener("input", () => { named.id = id.value; });
        title.addEventListener("input", () => { named.title = title.value; });
        const download = make("button", { type: "button", class: "quiet" }, "Download as a bundle");
        const publish = mode === "off" ? null : make("button", { type: "button", class: "quiet" }, "Save as a dataset");
        const notice = make("p", { class: "status-message", role: "status", id: "write-saved" });
        const say = (message, bad, ...links) => {
            notice.replaceChildren(message, ...links);
            notice.className = bad ? "status-message bad" : "status-message";
        };
        const busy = (state) => { for (const button of [download, publish]) if (button) button.disabled = state; };

        // Returns the questions as a zip from the server; null if something is wrong, after showing a message.
        async function bundle() {
            if (!/^[a-z0-9-]+$/.test(id.value)) {
                say("The id of a dataset can only have lower-case letters, digits and hyphens.", true);
                id.focus();
                return null;
            }
            const questions = stored().filter((question) => question.text.trim() || question.answer.trim());
            if (!questions.length) {
                say("There are no questions yet.", true);
                return null;
            }
            const body = { dataset: id.value, title: title.value, questions: questions.map((question) => Object.fromEntries(FIELDS.map((field) => [field, question[field]]))) };
            try {
                const answer = await window.fetch("/api/v1/write/bundle", { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
                if (answer.ok) return await answer.blob();
                let content = {};
                try { content = await answer.json(); } catch (e) { /* the response is not ours */ }
                say(clueline.api.explain(answer.status, content), true);
            } catch (e) {
                say(clueline.api.explain(0, {}), true);
            }
            return null;
        }
        download.addEventListener("click", async () => {
            busy(true);
            const zip = await bundle();
            busy(false);
            if (!zip) return;
            const link = make("a", { href: URL.createObjectURL(zip), download: `${id.value}.zip` });
            link.click();
            URL.revokeObjectURL(link.href);
            say(`${id.value}.zip is a bundle, which /upload and “clueline import” accept.`, false);
        });
        if (publish) publish.addEventListener("click", async () => {
            const token = document.getElementById("token");
            if (token && !clueline.api.token()) {
                say("This server asks for a token. Enter it in the field above and try again.", true);
                token.focus();
                return;
            }
            busy(true);
            const zip = await bundle();
            if (!zip) { busy(false); return; }
            say("Saving…", false);
            clueline.api.send("POST", `/api/v1/datasets?filename=${encodeURIComponent(id.value)}.zip`, zip, (status, content) => {
                busy(false);
                if (status !== 200 && status !== 201) {
                    say(clueline.api.explain(status, content), true);
                    if ((status === 401 || status === 403) && token) token.focus();
                    return;
                }
                const link = make("a", { href: `/questions?dataset=${encodeURIComponent(id.value)}` }, "its questions");
                say(status === 201 ? "Saved: " : "Everything was already there: ", false, link, ".");
            });
        });
        const field = (label, input) => make("div", { class: "field" }, make("label", { for: input.id }, label), input);
        host.replaceChildren(
            make("p", { class: "note" }, "All questions of the draft, with the guessers' answers to them."),
            make("div", { class: "fields" }, field("Id of the dataset", id), field("Title", title)),
            make("div", { class: "actions" }, download, publish), notice);
    }

    clueline.whenever("#write", build);
    clueline.whenever("#write-save", buildSave);
})();
