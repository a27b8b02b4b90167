// Puts the server's drawings on the page; see docs/rendering.md. A drawing (dashboard/ui/drawing.py) has a structure of Dash components, and
// their contents: fragments of HTML, figures, and the data of stores. If the structure is the one already shown, only the parts that
// differ are changed in place, so that focus, scroll position and unfolded tables stay as they are.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const callbacks = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};
    const same = (value, other) => JSON.stringify(value) === JSON.stringify(other);
    let shown = null;

    // Returns a figure by its name, as the server drew it, with variables for colours.
    clueline.drawnFigure = (name) => shown && shown.figures[name];

    // Returns a structure with the contents of its components filled in.
    function filled(node, drawing) {
        if (Array.isArray(node)) return node.map((part) => filled(part, drawing));
        if (!node || !node.props) return node;
        const { id, children } = node.props;
        const props = Object.assign({}, node.props);
        if (children !== undefined) props.children = filled(children, drawing);
        if (id && id.role === "fragment") props["data-html"] = drawing.fragments[id.name];
        if (id && id.role === "state") props.data = drawing.states[JSON.stringify(id, Object.keys(id).sort())];
        if (id && id.role === "figure") Object.assign(props, clueline.prepared(id.figure));
        if (props["data-figure"]) props.style = { height: clueline.frameHeight(props["data-figure"]) + "px" };
        if (props.className === "unfold") props.open = window.innerWidth > 720 && window.innerHeight >= 800; // on a small screen, open filters would push everything else out of view
        return Object.assign({}, node, { props: props });
    }

    // Changes the parts that differ from what is shown.
    function change(drawing, before) {
        const set = window.dash_clientside.set_props;
        for (const [name, html] of Object.entries(drawing.fragments)) {
            if (html !== before.fragments[name]) set({ role: "fragment", name: name }, { "data-html": html });
        }
        for (const [id, data] of Object.entries(drawing.states)) {
            if (!same(data, before.states[id])) set(JSON.parse(id), { data: data });
        }
        for (const [name, figure] of Object.entries(drawing.figures)) {
            if (!same(figure, before.figures[name])) clueline.paint(name);
        }
    }

    // A callback: builds a page with its content, or only the content, or changes the parts of it that differ.
    callbacks.place = function (text) {
        const keep = window.dash_clientside.no_update;
        const drawing = JSON.parse(text);
        const before = shown;
        shown = drawing;
        const { page } = drawing;
        clueline.answered(Boolean(page), drawing.stands);
        if (drawing.again !== null) clueline.askAgain(drawing.again);
        if (!page && before && before.outline === drawing.outline) {
            change(drawing, before);
            return [keep, keep, keep, keep, keep, keep];
        }
        const content = filled(drawing.content, drawing);
        if (!page) return [keep, keep, keep, keep, keep, content];
        document.title = tabTitle(page.title, page.dataset);
        whenPlaced(drawing, () => {
            const heading = document.querySelector("#content .story h2, #content h1"); // the finding, where the page begins with one
            if (heading) document.title = tabTitle(heading.textContent, page.dataset);
            arrive();
        });
        return ["page page-" + page.name, page.version, page.header, page.banner, filled(page.filters, drawing), content];
    };

    // Returns the title of a tab, which names the thing that is shown, such as a question or a run, and its dataset.
    const tabTitle = (...names) => [...names, "Clueline"].filter(Boolean).join(" · ");

    // Calls a function once a drawing is on the page, that is, once each fragment has its HTML: those of another page have the same names.
    function whenPlaced(drawing, act) {
        const placed = ([name, html]) => name.startsWith("filters.") || clueline.component({ role: "fragment", name: name })?.dataset.html === html;
        if (Object.entries(drawing.fragments).every(placed)) act();
        else if (drawing === shown) window.requestAnimationFrame(() => whenPlaced(drawing, act));
    }

    function arrive() {
        clueline.showFragment();
        document.dispatchEvent(new CustomEvent("arrived"));
    }

    // Fills an element with the HTML in its data-html. Content that is already there is changed to match.
    const html = new WeakMap(); // element -> the HTML that it was filled with
    function fill(element) {
        const text = element.dataset.html;
        if (html.get(element) === text) return;
        if (html.has(element)) window.Idiomorph.morph(element, text, { morphStyle: "innerHTML", callbacks: KEEP });
        else element.innerHTML = text; // the server escapes every text in it
        html.set(element, text);
        element.dispatchEvent(new CustomEvent("filled", { bubbles: true }));
    }
    // Unfolded tables stay unfolded.
    const KEEP = { beforeAttributeUpdated: (name, node) => !(name === "open" && node.tagName === "DETAILS") };
    clueline.whenever("[data-html]", fill);
    new MutationObserver((changes) => changes.forEach((change) => fill(change.target)))
        .observe(document.documentElement, { subtree: true, attributeFilter: ["data-html"] });
})();
