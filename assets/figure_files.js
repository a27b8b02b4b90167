// Saves a figure as a file, or prints it on a page of its size: the plot with its title and caption above, and its source below.
(function () {
    "use strict";
    const SVG = "http://www.w3.org/2000/svg";
    const EDGE = 12, TITLE = 15, CAPTION = 12, SMALL = 11, LINE = 1.45; // pixels; LINE is the line height relative to the font size
    const WIDTH_OF_LETTER = 0.56; // average, relative to the font size

    // Breaks a text into lines that fit a width.
    function lines(text, width, size) {
        const most = Math.max(20, Math.floor(width / (size * WIDTH_OF_LETTER)));
        const result = [];
        for (const word of text.split(/\s+/).filter(Boolean)) {
            const last = result.length - 1;
            if (last >= 0 && result[last].length + 1 + word.length <= most) result[last] += " " + word;
            else result.push(word);
        }
        return result;
    }
    function write(parent, texts, top, size, colour, weight) {
        texts.forEach((text, place) => {
            const element = document.createElementNS(SVG, "text");
            const position = { x: EDGE, y: top + size + place * size * LINE, "font-size": size, fill: colour, "font-weight": weight };
            for (const [key, value] of Object.entries(position)) element.setAttribute(key, value);
            element.setAttribute("font-family", "Inter, system-ui, sans-serif");
            element.textContent = text;
            parent.append(element);
        });
        return top + texts.length * size * LINE;
    }

    // Returns the figure of a frame as SVG.
    async function draw(frame) {
        const plot = frame.querySelector(".js-plotly-plot");
        const box = plot.getBoundingClientRect();
        // On the page the legend is above the figure; a file needs its own.
        const legend = (plot.layout.meta || {}).legend ? { showlegend: true } : {};
        const entries = plot.data.filter((trace) => trace.showlegend !== false).length;
        const room = legend.showlegend ? 24 * Math.ceil(entries / Math.max(1, Math.floor(box.width / 240))) : 0;
        const size = { width: Math.round(box.width), height: Math.round(box.height + room) };
        const figure = { data: plot.data, layout: Object.assign({}, plot.layout, legend, size), config: { locale: "en" } };
        const text = await window.Plotly.toImage(figure, Object.assign({ format: "svg", imageDataOnly: true }, size));
        const inner = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;

        const style = window.getComputedStyle(document.documentElement);
        const colour = (name) => style.getPropertyValue(name).trim();
        const caption = frame.closest("figure").querySelector("figcaption").cloneNode(true);
        for (const hint of caption.querySelectorAll(".hint")) hint.remove();
        const above = [...document.querySelectorAll("#content h1, #content h2, #content h3")]
            .filter((heading) => heading.compareDocumentPosition(frame) & Node.DOCUMENT_POSITION_FOLLOWING);
        const title = above.length ? above[above.length - 1].textContent.trim() : frame.dataset.figure;
        const view = frame.closest(".view"); // one of several in a file, which knows where it is live
        const provenance = (view || document).querySelector(".page-foot .provenance");
        const where = window.location.protocol === "file:" ? view && view.dataset.live : window.location.href;
        const source = [provenance ? provenance.textContent.trim() : "", where].filter(Boolean).join(" · ");
        const outer = document.createElementNS(SVG, "svg");
        const ground = document.createElementNS(SVG, "rect");
        const name = document.createElementNS(SVG, "title"), about = document.createElementNS(SVG, "desc");
        [name.textContent, about.textContent] = [title, source];
        outer.append(name, about, ground);
        const within = size.width - 2 * EDGE;
        const below = write(outer, lines(title, within, TITLE), EDGE, TITLE, colour("--ink"), 600);
        const top = write(outer, lines(caption.textContent, within, CAPTION), below, CAPTION, colour("--ink"), 400) + EDGE / 2;
        inner.setAttribute("y", top);
        outer.append(document.importNode(inner, true));
        // Long words without spaces, such as links, are broken at the end of a line.
        const cut = source.replace(/\S{60,}/g, (word) => word.match(/.{1,60}/g).join(" "));
        const bottom = write(outer, lines(cut, within, SMALL), top + size.height + EDGE / 2, SMALL, colour("--muted"), 400) + EDGE;
        const whole = { width: size.width, height: Math.ceil(bottom) };
        for (const element of [outer, ground]) for (const [key, value] of Object.entries(whole)) element.setAttribute(key, value);
        outer.setAttribute("viewBox", `0 0 ${whole.width} ${whole.height}`);
        ground.setAttribute("fill", colour("--paper"));
        return Object.assign({ text: new XMLSerializer().serializeToString(outer) }, whole);
    }

    function save(blob, name) {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = name;
        link.click();
        window.setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    }

    async function asPng(drawing) {
        const image = new Image();
        image.src = "data:image/svg+xml," + encodeURIComponent(drawing.text);
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [2 * drawing.width, 2 * drawing.height];
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        return new Promise((done) => canvas.toBlob(done, "image/png"));
    }

    // Opens the browser's print dialogue, which can save a PDF: vectors and text, on one page of the figure's size.
    function print(drawing, title) {
        const old = document.getElementById("figure-print");
        if (old) old.remove();
        const sheet = document.createElement("iframe");
        sheet.id = "figure-print";
        sheet.title = title;
        sheet.setAttribute("aria-hidden", "true");
        sheet.tabIndex = -1;
        document.body.append(sheet);
        const inside = sheet.contentDocument;
        inside.title = title; // browsers suggest it as the name of the file
        const style = inside.createElement("style");
        style.textContent = `@page { size: ${drawing.width}px ${drawing.height}px; margin: 0 } body { margin: 0 } svg { display: block }`;
        inside.head.append(style);
        inside.body.append(inside.importNode(new DOMParser().parseFromString(drawing.text, "image/svg+xml").documentElement, true));
        sheet.contentWindow.focus();
        sheet.contentWindow.print();
    }

    document.addEventListener("click", async (event) => {
        const button = event.target.closest("[data-download]");
        if (!button) return;
        const frame = button.closest("figure").querySelector("[data-figure]");
        const page = window.location.pathname.replace(/[^a-z0-9]+/gi, "-");
        const name = ["clueline", page, frame.dataset.figure].join("-").replace(/-+/g, "-");
        const drawing = await draw(frame);
        if (button.dataset.download === "svg") save(new Blob([drawing.text], { type: "image/svg+xml" }), name + ".svg");
        else if (button.dataset.download === "png") save(await asPng(drawing), name + ".png");
        else print(drawing, name);
    });
})();
