// The cursor of the question page: text, answers and figure follow it without asking the server.
(function () {
    "use strict";
    const clueline = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};
    const part = (type, props) => ({ namespace: "dash_html_components", type, props });
    const number = (value, digits) => (value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "\u2212"));

    function answerRow(run, answer, data) {
        const right = answer && answer.correct >= 0.5;
        const swatch = part("Span", { className: "swatch", style: { background: run.colour } });
        const cells = [part("Th", { scope: "row", children: [swatch, part("Span", { className: "name", children: run.name })] })];
        if (!answer) {
            cells.push(part("Td", { className: "missing", children: "not answered" }), part("Td", { children: "" }), part("Td", { children: "" }));
        } else {
            const probable = answer.graded === "table"; // the life table gives a probability of being right, neither right nor wrong
            const mark = probable ? number(answer.correct, 3) : right ? "✓" : "✗";
            cells.push(
                part("Td", { className: answer.guess ? "guess" : "missing", children: answer.guess || "no answer" }),
                part("Td", { className: "number mark " + (probable ? "" : right ? "right" : "wrong"), title: answer.graded === "prompt" ? "matches only what would be prompted on" : "", children: mark }),
                part("Td", { className: "number", children: [
                    part("Span", { className: "meter", style: { "--share": answer.confidence, "--shade": run.colour } }), number(answer.confidence, 3)] }),
            );
        }
        if (data.human) {
            const share = answer ? answer.contribution : null;
            cells.push(part("Td", { className: "number " + (share < 0 ? "bad" : ""), children: number(share, 3) }));
        }
        if (run.buzz) {
            const here = answer && run.buzz[0] === `clue ${answer.clue + 1}`;
            cells.push(part("Td", { className: "number" + (here ? " here" : ""), title: run.buzz[1], children: run.buzz[0] }));
        } else if (data.buzzes) {
            cells.push(part("Td", { children: "" }));
        }
        run.metrics.forEach((value) => cells.push(part("Td", { className: "number", children: value })));
        return part("Tr", { children: cells });
    }

    function paintText(clue) {
        document.querySelectorAll("#clues [data-clue]").forEach((element) => {
            const own = Number(element.dataset.clue);
            element.className = "clue " + (own === clue ? "now" : own > clue ? "ahead" : "past");
            if (own === clue) element.setAttribute("aria-current", "step"); else element.removeAttribute("aria-current");
        });
    }

    function paintFigure(word) {
        const plot = document.querySelector(".figure-clues .js-plotly-plot");
        if (plot && plot.layout && window.Plotly && plot.layout.shapes && plot.layout.shapes[0].x0 !== word) {
            window.Plotly.relayout(plot, { "shapes[0].x0": word, "shapes[0].x1": word });
        }
    }

    clueline.follow = function (clue, data) {
        if (!data || clue === null || clue === undefined) return [window.dash_clientside.no_update, window.dash_clientside.no_update];
        paintText(clue);
        paintFigure(data.words[clue]);
        const rows = data.runs.map((run) => answerRow(run, run.clues[clue], data));
        const people = data.human ? `; people: h = ${number(data.human[clue], 3)}` : "";
        const title = data.single ? "Answers" : `Answers after clue ${clue + 1} of ${data.words.length}${people}`;
        return [rows, title];
    };

    const last = () => document.querySelectorAll("#clues [data-clue]").length - 1;

    function move(clue) {
        if (!(clue >= 0 && clue <= last())) return;
        clueline.set({ clue: clue === last() ? "" : String(clue) });
        window.dash_clientside.set_props("cursor", { data: clue });
    }
    clueline.move = move;

    // By the address: the page follows it, and a key may be pressed before it has.
    const current = () => {
        const clue = new URLSearchParams(window.location.search).get("clue");
        return clue ? Number(clue) : last();
    };

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
    // Over the figure, the cursor goes to the clue under the mouse.
    document.addEventListener("mousemove", (event) => {
        const plot = event.target.closest(".figure-clues .js-plotly-plot");
        if (!plot || !plot._fullLayout || !plot._fullLayout.xaxis) return;
        const axis = plot._fullLayout.xaxis;
        const word = axis.p2d(event.clientX - plot.getBoundingClientRect().left - axis._offset);
        const ends = [...document.querySelectorAll("#clues [data-clue]")].map((element) => Number(element.dataset.end));
        const found = ends.findIndex((end) => word <= end);
        const clue = found < 0 ? ends.length - 1 : found;
        if (word >= 0 && clue !== current()) move(clue);
    });
})();
