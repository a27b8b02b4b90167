// Sets, before the first paint, whether the page is shown in a frame without navigation, and the theme: the one in the address, or the
// one chosen last, or the system's.
(function () {
    const query = new URLSearchParams(window.location.search);
    if (query.get("embed") === "1") document.documentElement.dataset.embed = "";
    const named = query.get("theme");
    let chosen = null;
    try { chosen = window.localStorage.getItem("clueline-theme"); } catch (e) { /* storage can be switched off */ }
    const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    const theme = ["light", "dark"].includes(named) ? named : ["light", "dark"].includes(chosen) ? chosen : dark ? "dark" : "light";
    document.documentElement.dataset.theme = theme;
})();
