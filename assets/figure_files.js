// Saves a figure for a paper: without title, help or address, always in light colours, at a width, font and size that the user chooses.
// What belongs below it is offered as text.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const SVG = "http://www.w3.org/2000/svg";
    const INCH = 25.4, PIXELS = 96, POINTS = 72, DPI = 300; // millimetres, CSS pixels, points and pixels of a PNG per inch
    const SMALLEST = 11; // pixels of the smallest text of a figure, which gets the chosen size
    const MOST = 16000; // pixels of a side of a PNG; browsers refuse more
    const ENTRY = 50, LETTER = 6.8, ROW = 20; // pixels of an entry of the legend: without its name, per letter, and its height
    const CHOICES = {
        width: ["Width", { 85: "85 mm (one column)", 120: "120 mm", 175: "175 mm (two columns)", 250: "250 mm (slide)" }, "175"],
        font: ["Font", { "Helvetica, Arial, sans-serif": "Sans serif", "'Times New Roman', Times, serif": "Serif" }, "Helvetica, Arial, sans-serif"],
        size: ["Smallest text", { 6: "6 pt", 7: "7 pt", 8: "8 pt", 9: "9 pt", 10: "10 pt" }, "8"],
    };

    // Returns a figure as SVG, with its width and height in millimetres.
    async function draw(name, about, { width, font, size }) {
        const scale = (size * PIXELS) / POINTS / SMALLEST;
        const across = Math.round((width / INCH) * PIXELS / scale);
        const root = document.documentElement, theme = root.dataset.theme;
        root.dataset.theme = "light"; // until the colours are read; nothing is painted meanwhile
        const { data, layout } = clueline.figureAt(name, across);
        root.dataset.theme = theme;
        layout.font.family = font;
        if ((layout.meta || {}).legend) { // on the page it is above the figure; a file needs its own for lines without names
            const named = (layout.annotations || []).some((annotation) => annotation.name === "end-label");
            for (const trace of data) if (named && trace.meta) trace.showlegend = false;
            const entries = data.filter((trace) => trace.showlegend !== false).map((trace) => (trace.name || "").length);
            const columns = Math.max(1, Math.floor(across / (ENTRY + LETTER * Math.max(...entries, 0))));
            Object.assign(layout, { showlegend: entries.length > 0, height: layout.height + ROW * Math.ceil(entries.length / columns) });
        }
        const pixels = { width: across, height: Math.round(layout.height) };
        const text = await window.Plotly.toImage({ data, layout, config: { locale: "en" } }, { format: "svg", imageDataOnly: true, ...pixels });
        const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
        const ground = document.createElementNS(SVG, "rect"), title = document.createElementNS(SVG, "title");
        for (const [key, value] of Object.entries({ ...pixels, fill: "#fff" })) ground.setAttribute(key, value);
        title.textContent = about;
        svg.prepend(title, ground);
        const drawn = { width: Number(width), height: Number(((width * pixels.height) / across).toFixed(2)) };
        svg.setAttribute("viewBox", `0 0 ${pixels.width} ${pixels.height}`);
        svg.removeAttribute("style");
        for (const side of ["width", "height"]) svg.setAttribute(side, drawn[side] + "mm");
        return Object.assign(drawn, { text: new XMLSerializer().serializeToString(svg) });
    }

    // What stands below the figure in a paper: heading, caption, and where the data are from.
    function captionOf(frame) {
        const caption = frame.closest("figure").querySelector("figcaption").cloneNode(true);
        for (const hint of caption.querySelectorAll(".hint")) hint.remove();
        const above = [...document.querySelectorAll("#content h1, #content h2, #content h3")]
            .filter((heading) => heading.compareDocumentPosition(frame) & Node.DOCUMENT_POSITION_FOLLOWING);
        const provenance = (frame.closest(".view") || document).querySelector(".page-foot .provenance");
        const parts = [above.length ? above[above.length - 1] : null, caption, provenance];
        return parts.map((part) => part && part.textContent.trim().replace(/\.$/, "")).filter(Boolean).join(". ") + ".";
    }

    function save(blob, name) {
        const link = clueline.element("a", { href: URL.createObjectURL(blob), download: name });
        link.click();
        window.setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    }
    const asImage = (drawing) => "data:image/svg+xml," + encodeURIComponent(drawing.text);

    async function asPng(drawing) {
        const image = new Image();
        image.src = asImage(drawing);
        await image.decode();
        const canvas = document.createElement("canvas");
        const dots = Math.min(DPI / INCH, MOST / drawing.height);
        [canvas.width, canvas.height] = [Math.round(drawing.width * dots), Math.round(drawing.height * dots)];
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        return new Promise((done) => canvas.toBlob(done, "image/png"));
    }

    // Opens the browser's print dialogue, which can save a PDF: vectors and text, on one page of the figure's size.
    function print(drawing, title) {
        const old = document.getElementById("figure-print");
        if (old) old.remove();
        const sheet = clueline.element("iframe", { id: "figure-print", title: title, "aria-hidden": "true", tabindex: "-1" });
        document.body.append(sheet);
        const inside = sheet.contentDocument;
        inside.title = title; // browsers suggest it as the name of the file
        const style = inside.createElement("style");
        style.textContent = `@page { size: ${drawing.width}mm ${drawing.height}mm; margin: 0 } body { margin: 0 } svg { display: block }`;
        inside.head.append(style);
        inside.body.append(inside.importNode(new DOMParser().parseFromString(drawing.text, "image/svg+xml").documentElement, true));
        sheet.contentWindow.focus();
        sheet.contentWindow.print();
    }

    const chosen = Object.fromEntries(Object.entries(CHOICES).map(([key, [, , usual]]) => [key, usual])); // for the figures to come, too

    function open(frame) {
        const element = clueline.element;
        const caption = captionOf(frame);
        const page = window.location.pathname.replace(/[^a-z0-9]+/gi, "-");
        const name = ["clueline", page, frame.dataset.figure].join("-").replace(/-+/g, "-");
        const preview = element("img", { alt: "The figure as it will be saved" });
        const drawn = () => draw(frame.dataset.figure, caption, chosen);
        const show = async () => { preview.src = asImage(await drawn()); };
        const choices = Object.entries(CHOICES).map(([key, [label, options]]) => {
            const select = element("select", { name: key }, ...Object.entries(options).map(([value, text]) =>
                element("option", { value: value, selected: chosen[key] === value }, text)));
            select.addEventListener("change", () => { chosen[key] = select.value; show(); });
            return element("label", {}, label, select);
        });
        const button = (text, title, act) => {
            const made = element("button", { type: "button", class: "quiet", title: title }, text);
            made.addEventListener("click", act);
            return made;
        };
        const copy = async (event) => {
            try {
                await navigator.clipboard.writeText(caption);
                event.target.textContent = "Copied";
            } catch (e) { window.getSelection().selectAllChildren(dialog.querySelector(".caption")); }
        };
        const dialog = element("dialog", { id: "figure-file", "aria-labelledby": "figure-file-title" },
            element("h2", { id: "figure-file-title" }, "Save figure"), element("div", { class: "choices" }, ...choices), preview,
            element("p", { class: "note caption" }, caption),
            element("div", { class: "files" },
                button("SVG", "Vectors", async () => save(new Blob([(await drawn()).text], { type: "image/svg+xml" }), name + ".svg")),
                button("PDF", "Vectors, on a page of this size: choose “Save as PDF” in the browser's print dialogue", async () => print(await drawn(), name)),
                button("PNG", DPI + " dots per inch", async () => save(await asPng(await drawn()), name + ".png")),
                button("Copy caption", "The text above", copy),
                button("Close", "Back to the page", () => dialog.close())));
        dialog.addEventListener("close", () => dialog.remove());
        document.body.append(dialog);
        dialog.showModal();
        show();
    }

    document.addEventListener("click", (event) => {
        const button = event.target.closest("[data-download]");
        if (button) open(button.closest("figure").querySelector("[data-figure]"));
    });
})();
