// Adds what Dash's controls lack for people who use the keyboard or a screen reader.
(function () {
    "use strict";
    function complete() {
        // Dash takes a menu's button out of the tab order, because of a hidden box in front of it, which our styles remove.
        for (const button of document.querySelectorAll('button.dash-dropdown[tabindex="-1"]')) button.tabIndex = 0;
        // A chip is a checkbox in its label. With the role "option" around it, it would be a control within a control.
        for (const list of document.querySelectorAll('.chips[role="listbox"]')) list.setAttribute("role", "group");
        for (const chip of document.querySelectorAll('.chips label[role="option"], .chips label[aria-selected]')) {
            chip.removeAttribute("role");
            chip.removeAttribute("aria-selected");
        }
        for (const filter of document.querySelectorAll(".filter")) {
            const label = filter.querySelector(".label");
            const unnamed = filter.querySelectorAll(
                "input[type=number]:not([aria-label]), input[type=search]:not([aria-label]), [role=slider]:not([aria-label])");
            for (const control of label ? unnamed : []) {
                const ends = [...filter.querySelectorAll(control.tagName + (control.type ? `[type=${control.type}]` : "[role=slider]"))];
                const end = ends.length > 1 ? (ends.indexOf(control) === 0 ? ", from" : ", to") : "";
                control.setAttribute("aria-label", label.textContent + end);
            }
        }
        document.querySelectorAll(".scroll").forEach(cue);
        // A formula that is wider than the page can be scrolled; only then is it a tab stop.
        for (const formula of document.querySelectorAll(".formula")) {
            if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
            else formula.removeAttribute("tabindex");
        }
    }
    // A table that continues beyond the right edge of its frame fades out there.
    function cue(frame) {
        frame.classList.toggle("cut", frame.scrollWidth - frame.clientWidth - frame.scrollLeft > 2);
    }
    document.addEventListener("scroll", (event) => {
        if (event.target.classList && event.target.matches(".scroll")) cue(event.target);
    }, { capture: true, passive: true });
    let waits = false;
    function soon() {
        if (waits) return;
        waits = true;
        window.setTimeout(() => { waits = false; complete(); }, 50);
    }
    new MutationObserver(soon).observe(document.documentElement, { subtree: true, childList: true, attributeFilter: ["aria-selected"] });
    window.addEventListener("resize", soon);
})();
