// Corrects grades, with keys and buttons in the table of guesses. Corrections are sent one after the other.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const KEYS = { y: "1", n: "0", u: "" };
    const WORDS = { 1: ["✓ right", "right"], 0: ["✗ wrong", "wrong"] };
    let sending = Promise.resolve();

    const rows = () => [...document.querySelectorAll(".graded-guesses tr[data-graded]")];
    const field = (id) => document.getElementById(id);

    function say(text, bad) {
        const place = field("grades-message");
        if (!place) return;
        place.textContent = text;
        place.className = bad ? "status-message bad" : "status-message";
    }

    function move(row, step) {
        const all = rows();
        const next = all[Math.max(0, Math.min(all.length - 1, all.indexOf(row) + step))];
        for (const other of all) other.tabIndex = other === next ? 0 : -1;
        next.focus();
    }

    // Updates the row of a guess after a correction.
    function show(row, guess) {
        const cell = row.querySelector("[data-cell]");
        const value = guess ? guess.grades.reviewed : undefined;
        const [text, colour] = WORDS[value] || [value === undefined ? "–" : clueline.short(value), ""];
        cell.textContent = text;
        cell.className = `number mark ${colour}`;
        const history = row.querySelector(".history");
        history.replaceChildren(...(guess ? guess.corrections : []).map((entry) => {
            const verdict = entry.correct === null ? "undone" : entry.correct === 1 ? "right" : entry.correct === 0 ? "wrong" : `${entry.correct} right`;
            const note = entry.note ? `: ${entry.note}` : "";
            return clueline.element("li", {}, `${verdict} by ${entry.by}, ${entry.at.slice(0, 10)} ${entry.at.slice(11, 16)} UTC${note}`);
        }));
        row.classList.add("decided");
    }

    function correct(row, grade) {
        if (field("token") && !clueline.api.token()) {
            say("This server asks for a token. Enter it in the field above and try again.", true);
            field("token").focus();
            return false;
        }
        const guess = JSON.parse(row.dataset.graded);
        const note = field("grade-note") ? field("grade-note").value.trim() : "";
        const body = { grades: [{ ...guess, correct: grade === "" ? null : Number(grade), note: note || null }] };
        const address = `/api/v1/runs/${encodeURIComponent(row.dataset.run)}/grades`;
        row.setAttribute("aria-busy", "true");
        sending = sending.then(() => new Promise((done) => {
            clueline.api.send("POST", address, JSON.stringify(body), (status, answer) => {
                row.removeAttribute("aria-busy");
                if (status === 201) {
                    const of = (entry) => entry.question_id === guess.question_id && entry.guess === guess.guess;
                    show(row, answer.guesses.find(of));
                    const verdict = grade === "" ? "as before any correction" : grade === "1" ? "right" : "wrong";
                    say(`“${guess.guess || "no guess"}” is ${verdict} now.`, false);
                } else {
                    say(clueline.api.explain(status, answer), true);
                    if ((status === 401 || status === 403) && field("token")) field("token").focus();
                }
                done();
            });
        }));
        return true;
    }

    document.addEventListener("keydown", (event) => {
        const row = event.target.closest && event.target.closest("tr[data-graded]");
        if (!row || event.target !== row || event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key in KEYS) {
            event.preventDefault();
            if (correct(row, KEYS[event.key]) && event.key !== "u") move(row, 1);
        } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            move(row, event.key === "ArrowDown" ? 1 : -1);
        }
    });

    document.addEventListener("click", (event) => {
        const button = event.target.closest("button[data-grade]");
        if (button) correct(button.closest("tr[data-graded]"), button.dataset.grade);
    });

    // Draws answers at random for review, and lists them.
    function drawForReview(host) {
        if (field("token") && !clueline.api.token()) {
            say("This server asks for a token. Enter it in the field above and try again.", true);
            field("token").focus();
            return;
        }
        const button = host.querySelector("button");
        button.disabled = true;
        const address = `/api/v1/runs/${encodeURIComponent(host.dataset.run)}/review`;
        clueline.api.send("POST", address, JSON.stringify({ size: Number(field("review-size").value) }), (status, answer) => {
            button.disabled = false;
            if (status !== 201) {
                say(clueline.api.explain(status, answer), true);
                return;
            }
            const query = new URLSearchParams(window.location.search);
            query.set("graded_run", host.dataset.run);
            query.set("show", "drawn");
            window.location.search = query.toString();
        });
    }

    // Adds the controls that draw answers for review.
    document.addEventListener("arrived", () => {
        const host = document.querySelector(".review-draw");
        if (!host || host.firstChild) return;
        const button = clueline.element("button", { type: "button", class: "quiet" }, "Draw at random for review");
        button.addEventListener("click", () => drawForReview(host));
        host.append(clueline.element("label", { for: "review-size" }, "Answers"), clueline.element("input", {
            type: "number", id: "review-size", class: "text", min: "1", max: "10000", value: "100",
        }), button);
    });

    // Adds the box for a note. It is created here, because fragments of the page are read-only.
    document.addEventListener("arrived", () => {
        const host = document.querySelector(".grade-note:not(.review-draw)");
        if (!host || host.firstChild) return;
        host.append(clueline.element("label", { for: "grade-note" }, "Note, stored with each correction"),
            clueline.element("input", { type: "text", id: "grade-note", class: "text", maxlength: "500", autocomplete: "off" }));
    });
})();
