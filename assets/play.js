// The page on which people answer questions. The server decides what is shown; this script sends answers and draws states.
import {element, report, show} from "./play_elements.js";
import {race} from "./play_race.js";
import {modelsOfQuestion, paragraph, percent, resultOfPlayer} from "./play_result.js";
import {everyClue, estimate, vote} from "./play_untimed_modes.js";

// Each mode draws the question to answer (draw), explains what to do (about), and shows how an answer was graded (told).
const MODES = {"every-clue": everyClue, race, estimate, vote};
const AGAIN = 1000; // milliseconds before a failed request is sent again

const [session, invited] = location.hash.slice(1).split("/"); // invited: the player's key, if each player has a link
const key = `clueline-play-${session}`;
let player = invited || localStorage.getItem(key);
let step = 0, shownAt = 0, roundTrip = null, sending = false;

if (!player) {
    player = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    localStorage.setItem(key, player);
}

class Unreachable extends Error { // the request can be sent again
    again = true;
}

async function post(address, body) {
    const began = performance.now();
    let response;
    try {
        response = await fetch(address, {
            method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({session, player, ...body}),
        });
    } catch {
        throw new Unreachable("The server cannot be reached. Nothing is lost; try again.");
    }
    if (/\/(answers|words)$/.test(address)) roundTrip = performance.now() - began;
    const answer = await response.json().catch(() => null);
    if (response.ok) return answer;
    const message = answer?.error?.message ?? "Something went wrong. Try again.";
    throw response.status >= 500 || response.status === 429 ? new Unreachable(message) : new Error(message);
}

// What this script offers to the modes.
const game = {
    post,
    // Sends the player's answer at the current step and draws the next state. With insist, it is sent again until it arrives.
    async answer(body, {insist = false} = {}) {
        const times = {shown_ms: performance.now() - shownAt, round_trip_ms: roundTrip, clock_ms: Date.now()};
        await change("/api/v1/play/answers", {step, ...body, ...times}, insist);
    },
    refresh,
};

// Draws the response of an address, unless the player has moved on in the meantime. After a failure there is a button to try again.
async function fill(name, address, drawing) {
    const asked = step;
    show(name, true);
    element(name).replaceChildren(paragraph("Comparing with models …", "note"));
    try {
        const parts = drawing(await post(address, {}));
        if (step === asked) element(name).replaceChildren(...parts);
        if (step === asked && !parts.length) show(name, false);
    } catch (error) {
        const again = document.createElement("button");
        again.className = "quiet";
        again.type = "button";
        again.textContent = "Try again";
        again.addEventListener("click", () => fill(name, address, drawing));
        if (step === asked) element(name).replaceChildren(paragraph(`Models cannot be shown now. ${error.message}`, "note"), again);
    }
}

function drawLast(mode, last, calibration) {
    const parts = mode.told(last);
    if (!last.counts) parts.push(paragraph("You were away at the end, so this question does not count.", "note"));
    if (calibration.answers) {
        const answers = calibration.answers === 1 ? "1 answer" : `${calibration.answers} answers`;
        parts.push(paragraph(`So far you were ${percent(calibration.confidence)} sure on average, and right in `
            + `${percent(calibration.accuracy)} of ${answers}.`, "note"));
    }
    element("last").replaceChildren(...parts);
}

function draw(state) {
    const mode = MODES[state.mode];
    report("");
    element("consent-text").textContent = state.consent;
    element("about").textContent = mode.about;
    show("consent", !state.joined);
    show("foot", state.joined);
    show("last", Boolean(state.last));
    step = state.step;
    for (const name of ["models", "result", "form", "ready", "reading"]) show(name, false);
    if (state.last) {
        drawLast(mode, state.last, state.calibration);
        fill("models", "/api/v1/play/models", (answer) => modelsOfQuestion(answer, state.last, mode));
    }
    if (state.done) {
        if (state.calibration.answers) fill("result", "/api/v1/play/result", resultOfPlayer);
        element("title").textContent = "Done. Thank you!";
        element("title").tabIndex = -1;
        element("title").focus();
    } else if (state.joined) {
        element("title").textContent = `Question ${state.question + 1} of ${state.questions}`;
        element("progress").textContent = "";
        shownAt = performance.now();
        mode.draw(state, game);
    } else {
        element("start").focus();
    }
}

async function change(address, body, insist = false) {
    if (sending) return;
    sending = true;
    try {
        const state = await arriving(address, body, insist);
        sending = false;
        draw(state);
    } catch (error) {
        sending = false;
        if (insist) await refresh(); // a refused answer came too late, so the player continues where the server is
        report(error.message);
    }
}

async function refresh() {
    try {
        draw(await arriving("/api/v1/play", {}, true));
    } catch {
        // The first message says what is wrong.
    }
}

async function arriving(address, body, insist) {
    for (;;) {
        try {
            return await post(address, body);
        } catch (error) {
            if (!insist || !error.again) throw error;
            report("The server cannot be reached. Your answer is not lost; it will be sent again.");
            await new Promise((resolve) => { setTimeout(resolve, AGAIN); });
        }
    }
}

// Sets the text size that the player chose in this browser.
function resize() {
    document.querySelector(".page-play").style.setProperty("--size", element("size").value);
}

element("size").value = localStorage.getItem("clueline-play-size") ?? "1";
if (!element("size").value) element("size").value = "1";
resize();
element("size").addEventListener("change", () => {
    localStorage.setItem("clueline-play-size", element("size").value);
    resize();
});
element("start").addEventListener("click", () => change("/api/v1/play", {agreed: true}));
element("erase").addEventListener("click", async () => {
    if (!confirm("Erase all your answers in this session? You can join again only as a new player, if a place is left.")) return;
    try {
        await post("/api/v1/play/erase", {});
        draw(await post("/api/v1/play", {}));
        element("title").textContent = "Your answers are erased";
    } catch (error) {
        report(error.message);
    }
});
addEventListener("hashchange", () => location.reload());
if (session) change("/api/v1/play", {});
else report("This address is incomplete. Open the link that you were sent.");
