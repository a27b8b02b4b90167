// Formats numbers for pages. dashboard/ui/text.py does the same on the server; a test compares both.
(function () {
    "use strict";
    const clueline = (window.clueline = window.clueline || {});
    const DASH = "–";
    const MINUS = "\u2212";

    // Python rounds a half to the even neighbour, toFixed away from 0. Only multiples of a power of 1/2 are exact halves.
    function fixed(value, digits) {
        const text = value.toFixed(digits);
        const half = Math.abs(value * 2 ** (digits + 1)) % 2 === 1;
        if (!half || Number(text.at(-1)) % 2 === 0) return text;
        return (value < 0 ? "-" : "") + (Math.abs(value) - 0.5 * 10 ** -digits).toFixed(digits);
    }

    // Returns a number with a fixed number of decimals and a true minus sign; a dash if it is missing.
    clueline.short = function (value, digits = 3) {
        if (value === null || value === undefined) return DASH;
        const text = fixed(value, digits);
        return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", MINUS);
    };

    // Returns a share in percent; a dash if it is missing.
    clueline.percent = function (value) {
        return value === null || value === undefined ? DASH : `${clueline.short(100 * value, 1)} %`;
    };

    // Returns a whole number with thousands separators.
    clueline.whole = (value) => Number(value).toLocaleString("en");

    // Returns a count with its noun.
    clueline.count = (value, noun, plural) => `${clueline.whole(value)} ${value === 1 ? noun : plural || noun + "s"}`;
})();
