// Before the first paint: whether the page stands in a frame without navigation, and the theme that the address names, else the
// one chosen last, else the system's.
(function () {
    const query = new URLSearchParams(window.location.search);
    if (query.get("embed") === "1") document.documentElement.dataset.embed = "";
    const named = query.get("theme");
    let chosen = null;
    try { chosen = window.localStorage.getItem("clueline-theme"); } catch (e) { /* storage may be switched off */ }
    const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    const theme = ["light", "dark"].includes(named) ? named : ["light", "dark"].includes(chosen) ? chosen : dark ? "dark" : "light";
    document.documentElement.dataset.theme = theme;
})();
