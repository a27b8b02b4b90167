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
        return clue ? Number(clue) : last();
    };
    const wordAt = (clue) => Number((clues()[clue] || { dataset: {} }).dataset.end);

    function follow() {
        const now = current();
        clues().forEach((element, clue) => {
            element.className = "clue " + (clue === now ? "now" : clue > now ? "ahead" : "past");
            if (clue === now) element.setAttribute("aria-current", "step"); else element.removeAttribute("aria-current");
        });
        for (const body of document.querySelectorAll("#answers [data-clue]")) {
            body.hidden = Number(body.dataset.clue) !== now;
            const title = document.getElementById("answers-title");
            if (!body.hidden && title && title.textContent !== body.dataset.title) title.textContent = body.dataset.title;
        }
        const plot = clueline.plot("clues");
        const [line] = (plot && plot.layout && plot.layout.shapes) || [];
        if (line && line.x0 !== wordAt(now)) window.Plotly.relayout(plot, { "shapes[0].x0": wordAt(now), "shapes[0].x1": wordAt(now) });
    }
    clueline.adjustments = clueline.adjustments || {};
    clueline.adjustments.clues = (figure) => { Object.assign(figure.layout.shapes[0], { x0: wordAt(current()), x1: wordAt(current()) }); };
    document.addEventListener("filled", (event) => {
        if (event.target.querySelector("#clues, #answers") || event.target.closest("#clues, #answers")) follow();
    });

    function move(clue) {
        if (!(clue >= 0 && clue <= last()) || clue === current()) return;
        clueline.setKeys({ clue: clue === last() ? "" : String(clue) });
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
