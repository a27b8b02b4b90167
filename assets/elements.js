// Creates HTML elements, for all other scripts. Text is only ever inserted as text.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});

    // Returns an element with attributes and children. A child that is not an element becomes text; null is left out.
    clueline.element = function (tag, attributes, ...children) {
        const element = document.createElement(tag);
        for (const [name, value] of Object.entries(attributes || {})) {
            if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
        }
        element.append(...children.filter((child) => child !== null && child !== undefined));
        return element;
    };

    // Returns the element of a Dash component, by its id.
    clueline.component = function (id) {
        return document.getElementById(typeof id === "string" ? id : JSON.stringify(id, Object.keys(id).sort()));
    };

    // Calls a function with every element that matches a selector, now or later.
    clueline.whenever = function (selector, act) {
        const within = (node) => {
            if (node.nodeType !== Node.ELEMENT_NODE) return;
            if (node.matches(selector)) act(node);
            node.querySelectorAll(selector).forEach(act);
        };
        new MutationObserver((changes) => changes.forEach((change) => change.addedNodes.forEach(within)))
            .observe(document.documentElement, { subtree: true, childList: true });
        within(document.documentElement);
    };
})();
