// What is only read on a page comes as plain elements, [tag, attributes, children], by the name of the element that holds them
// (dashboard/components/parts.py). They are changed where they stand, so that the focus, what is scrolled and what is unfolded stay.
(function () {
    "use strict";
    const clueline = (window.dash_clientside = window.dash_clientside || {}).clueline = window.dash_clientside.clueline || {};
    const said = new WeakMap(); // element: as it was asked for
    const filled = new WeakSet(); // holders

    function make(wanted) {
        if (!Array.isArray(wanted)) return document.createTextNode(wanted);
        const element = document.createElement(wanted[0]);
        change(element, wanted, [wanted[0], {}, []]);
        return element;
    }

    function fits(node, wanted) {
        if (!Array.isArray(wanted)) return node.nodeType === Node.TEXT_NODE;
        return said.has(node) && said.get(node)[0] === wanted[0];
    }

    // Only what is asked for otherwise than before: others may have set what nobody asked for, such as that a table is unfolded.
    function change(element, wanted, before) {
        for (const name of Object.keys(before[1])) if (!(name in wanted[1])) element.removeAttribute(name);
        for (const [name, value] of Object.entries(wanted[1])) if (before[1][name] !== value) element.setAttribute(name, value);
        if (wanted[2].length || before[2].length) children(element, wanted[2]);
        said.set(element, wanted);
    }

    function children(element, wanted) {
        wanted.forEach((one, place) => {
            const node = element.childNodes[place];
            if (!node) element.append(make(one));
            else if (!fits(node, one)) element.replaceChild(make(one), node);
            else if (!Array.isArray(one)) { if (node.data !== one) node.data = one; }
            else change(node, one, said.get(node));
        });
        while (element.childNodes.length > wanted.length) element.lastChild.remove();
    }

    function fill(data, holders) {
        for (const holder of holders) {
            const wanted = (data || {})[holder.dataset.plain];
            if (!wanted) continue;
            filled.add(holder);
            children(holder, wanted);
        }
    }

    clueline.fill = (data) => fill(data, document.querySelectorAll("[data-plain]"));

    // Holders that have just come are filled before the next frame.
    new MutationObserver(() => {
        const fresh = [...document.querySelectorAll("[data-plain]")].filter((holder) => !filled.has(holder));
        const store = fresh.length && window.dash_component_api && window.dash_component_api.getLayout("plain");
        if (store) fill(store.props.data, fresh);
    }).observe(document.documentElement, { subtree: true, childList: true });

    // Links of the application lead to another page without loading it anew.
    document.addEventListener("click", (event) => {
        const link = event.target.closest && event.target.closest("a[data-link]");
        if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        clueline.go(link.getAttribute("href"));
    });
})();
