// In a file without a server: stands in for what the scripts of pages call of Dash and of the address, draws figures, and sorts tables.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const figures = JSON.parse(document.getElementById("figures").textContent);
    clueline.drawnFigure = (name) => figures[name];
    clueline.setKeys = clueline.redraw = clueline.open = () => {}; // a file shows one selection

    // Plotly is packed in the file, or loaded before this script, or not needed.
    const box = document.getElementById("plotly");
    const ready = box && box.textContent ? unpack(box.textContent) : Promise.resolve();
    async function unpack(text) {
        const packed = Uint8Array.from(window.atob(text), (letter) => letter.charCodeAt(0));
        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
        const script = document.createElement("script");
        script.textContent = await new Response(stream).text();
        document.head.append(script);
    }

    const CONFIG = { displayModeBar: false, displaylogo: false, showSendToCloud: false, responsive: false, doubleClick: "reset" };
    function draw({ figure: name }, { figure }) {
        const act = () => window.Plotly.react(document.querySelector(`[data-figure="${CSS.escape(name)}"] .plot`), figure.data, figure.layout, CONFIG);
        if (window.Plotly) act();
        else ready.then(act);
    }
    window.dash_clientside = { set_props: draw, no_update: null, callback_context: {} };

    // -- tables sort by a click on a heading

    // What a cell sorts by: its first number, else its text; null if it is missing.
    function worth(cell) {
        const text = cell ? cell.textContent.trim() : "";
        if (!text || text === "–") return null;
        const number = /^[^\p{L}\d]*?([-\u2212]?\d[\d,]*\.?\d*|[-\u2212]?\.\d+)/u.exec(text);
        return number ? Number(number[1].replace(/,/g, "").replace("\u2212", "-")) : text.toLowerCase();
    }
    function compare(one, other) {
        if (one === null || other === null) return (one === null) - (other === null);
        if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
        return one < other ? -1 : one > other ? 1 : 0;
    }
    function sort(heading) {
        const table = heading.closest("table");
        const place = [...heading.parentElement.children].slice(0, [...heading.parentElement.children].indexOf(heading))
            .reduce((sum, cell) => sum + cell.colSpan, 0);
        const falls = heading.getAttribute("aria-sort") === "ascending";
        for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
        for (const body of table.tBodies) {
            const rows = [...body.rows].filter((row) => row.cells.length > 1).map((row) => [row, worth(row.cells[place])]);
            rows.sort(([, one], [, other]) => (falls && one !== null && other !== null ? compare(other, one) : compare(one, other)));
            body.append(...rows.map(([row]) => row)); // a line that spans the table stays on top
        }
    }
    function sortable(table) {
        const heads = table.tHead ? [...table.tHead.rows] : [];
        if (heads.length !== 1 || ![...table.tBodies].some((body) => body.rows.length > 1)) return;
        for (const heading of heads[0].cells) {
            const button = document.createElement("button");
            button.type = "button";
            const more = heading.querySelector("a, details"); // stands beside the heading's words
            button.append(...[...heading.childNodes].filter((node) => node !== more));
            heading.prepend(button);
            button.addEventListener("click", () => sort(heading));
        }
    }

    // -- the clues of a question: its answers at the clue that was clicked

    function show(clue) {
        const view = clue.closest(".text-and-answers");
        const clues = [...view.querySelectorAll(".clues [data-clue]")];
        const now = clues.indexOf(clue);
        clues.forEach((element, place) => { element.className = "clue " + (place === now ? "now" : place > now ? "ahead" : "past"); });
        for (const body of view.querySelectorAll("tbody[data-clue]")) {
            body.hidden = body.dataset.clue !== clue.dataset.clue;
            if (!body.hidden) view.querySelector(".answers-section h2").textContent = body.dataset.title;
        }
    }
    for (const event of ["click", "keydown"]) {
        document.addEventListener(event, (happened) => {
            if (happened.key && happened.key !== "Enter") return;
            const clue = happened.target.closest(".clues [data-clue]");
            const button = happened.target.closest('[data-toggles="details"]');
            if (clue) show(clue);
            if (button && !happened.key) button.setAttribute("aria-pressed", button.closest(".text-and-answers").classList.toggle("all"));
        });
    }
    document.querySelectorAll("#content table").forEach(sortable);
})();
