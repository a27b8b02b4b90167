// The cursor of the question page. The address says at which clue it is. Text, answers and figure follow it without asking the server,
// which has drawn the answers at every clue and hidden all except those at the cursor.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const callbacks = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};
    const clues = () => [...document.querySelectorAll("#clues [data-clue]")];
    const last = () => clues().length - 1;
    const current = () => {
        const clue = new URLSearchParams(window.location.search).get("clue");
        return clue ? Number(clue) : 0;
    };
    const wordAt = (clue) => Number((clues()[clue] || { dataset: {} }).dataset.end);

    function follow() {
        const now = current();
        clues().forEach((element, clue) => {
            element.className = "clue " + (clue === now ? "now" : clue > now ? "ahead" : "past");
            if (clue === now) element.setAttribute("aria-current", "step"); else element.removeAttribute("aria-current");
        });
        if (clues()[now]) reveal(clues()[now]);
        for (const body of document.querySelectorAll("#answers [data-clue]")) {
            body.hidden = Number(body.dataset.clue) !== now;
            const title = document.getElementById("answers-title");
            if (!body.hidden && title && title.textContent !== body.dataset.title) title.textContent = body.dataset.title;
        }
        const plot = clueline.plot("clues");
        const [line] = (plot && plot.layout && plot.layout.shapes) || [];
        if (line && line.x0 !== wordAt(now)) window.Plotly.relayout(plot, { "shapes[0].x0": wordAt(now), "shapes[0].x1": wordAt(now) });
    }
    // Scrolls the text, which has a box of its own on a wide screen, as far as a clue needs it; the page stays where it is.
    function reveal(clue) {
        const box = clue.parentElement;
        const { top, bottom } = box.getBoundingClientRect(), place = clue.getBoundingClientRect();
        if (place.bottom > bottom) box.scrollTop += place.bottom - bottom;
        if (place.top < top) box.scrollTop -= top - place.top;
    }

    // What is left of the screen below the heading, for the style sheet: text, figure and answers share it.
    function measure() {
        const screen = document.querySelector(".text-and-answers");
        if (!screen) return;
        document.documentElement.style.setProperty("--question-top", Math.round(screen.getBoundingClientRect().top + window.scrollY) + "px");
        const now = clues()[current()];
        if (now) reveal(now);
    }
    window.addEventListener("resize", measure);
    document.addEventListener("toggle", measure, true); // what unfolds above moves it

    // The answer line is folded away again at the next question, unless the visitor has chosen to see it always.
    const KEPT = "clueline-answer";
    const always = () => { try { return window.localStorage.getItem(KEPT) === "open"; } catch (e) { return false; } };
    let folded = null; // the question whose answer line was folded or unfolded
    function foldAnswer() {
        const line = document.querySelector(".answer-line[data-folds]");
        if (!line) return;
        line.querySelector("[data-keeps]").setAttribute("aria-pressed", String(always()));
        if (folded !== line.dataset.question) line.open = always();
        folded = line.dataset.question;
    }
    document.addEventListener("click", (event) => {
        const button = event.target.closest('[data-keeps="answer"]');
        if (!button) return;
        try { window.localStorage.setItem(KEPT, always() ? "" : "open"); } catch (e) { /* storage can be switched off */ }
        button.setAttribute("aria-pressed", String(always()));
    });

    clueline.adjustments = clueline.adjustments || {};
    clueline.adjustments.clues = (figure) => { Object.assign(figure.layout.shapes[0], { x0: wordAt(current()), x1: wordAt(current()) }); };
    document.addEventListener("filled", (event) => {
        foldAnswer();
        measure();
        if (event.target.querySelector("#clues, #answers") || event.target.closest("#clues, #answers")) follow();
    });

    function move(clue) {
        if (!(clue >= 0 && clue <= last()) || clue === current()) return;
        clueline.setKeys({ clue: clue === 0 ? "" : String(clue) });
        follow();
    }

    document.addEventListener("click", (event) => {
        const element = event.target.closest("#clues [data-clue]");
        if (element) move(Number(element.dataset.clue));
    });
    document.addEventListener("keydown", (event) => {
        if (!document.getElementById("clues") || event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.target.closest("input, textarea, select, [role=slider], [role=listbox], [role=radio], .scroll")) return;
        const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
        if (step) { event.preventDefault(); move(current() + step); }
        if (event.key === "Enter" && event.target.dataset.clue) move(Number(event.target.dataset.clue));
    });

    document.addEventListener("click", (event) => {
        const button = event.target.closest('[data-toggles="details"]');
        if (button) button.setAttribute("aria-pressed", document.querySelector(".text-and-answers").classList.toggle("all"));
    });

    // A callback: the cursor follows the mouse over the figure ("hoveranywhere").
    callbacks.hoverClue = function (hover) {
        const word = hover && hover.xvals ? hover.xvals[0] : null;
        if (word === null || !document.getElementById("clues") || word < 0) return;
        const clue = clues().findIndex((element) => word <= Number(element.dataset.end));
        move(clue < 0 ? last() : clue);
    };
})();
