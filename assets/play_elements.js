// Elements of the page on which people answer questions.
export function element(name) { return document.getElementById(`play-${name}`); }

export function show(name, visible) { element(name).hidden = !visible; }

export function report(message) {
    element("problem").textContent = message;
    show("problem", Boolean(message));
}

// Shows clues. Clues that are already there stay, so that a screen reader reads only the new one, or nothing if they were all read.
export function showClues(clues, {heard = false} = {}) {
    const box = element("clues");
    box.ariaLive = heard ? "off" : "polite";
    const present = [...box.children].map((part) => part.textContent.trim());
    if (!present.every((text, index) => text === clues[index])) box.replaceChildren();
    for (const clue of clues.slice(box.childElementCount)) {
        box.append(Object.assign(document.createElement("span"), {textContent: `${clue.trim()} `}));
    }
}

let submitted = () => {};

element("form").addEventListener("submit", (event) => {
    event.preventDefault();
    submitted();
});

// Shows the form with the fields of a mode, all of them blank except a kept guess, and labels its button.
export function showForm({guess = "", classes = [], sure, buzz = false, button = "Next", age = false, keep = ""}, submit) {
    submitted = submit;
    show("form", true);
    show("guess-field", Boolean(guess));
    element("guess-label").textContent = guess;
    Object.assign(element("guess"), {type: age ? "number" : "text", required: age, inputMode: age ? "decimal" : "text", value: keep});
    for (const [name, value] of [["min", 0], ["max", 130], ["step", "any"]]) {
        if (age) element("guess").setAttribute(name, value);
        else element("guess").removeAttribute(name);
    }
    show("classes", Boolean(classes.length));
    element("classes").replaceChildren(element("classes").querySelector("legend"), ...classes.map(choice));
    element("confidence-label").textContent = `${sure} 0 to 100`;
    element("confidence").value = "";
    show("buzz-field", buzz);
    element("buzz").checked = false;
    element("send").textContent = button;
    for (const name of ["prompt", "time"]) show(name, false);
    (guess ? element("guess") : element("classes").querySelector("input")).focus();
}

function choice(name) {
    const label = document.createElement("label"), input = document.createElement("input");
    Object.assign(input, {type: "radio", name: "class", value: name, required: true});
    label.append(input, ` ${name}`);
    return label;
}

export function confidence() { return Number(element("confidence").value); }
