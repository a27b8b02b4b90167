// The race: words appear as the server sends them, the space bar or a tap buzzes, and an answer has a time limit.
import {confidence, element, report, show, showClues, showForm} from "./play_elements.js";
import {graded, paragraph, theAnswer} from "./play_result.js";

const POLL = 500; // milliseconds between requests for words
const PACE = 180; // words a minute; people read aloud at 183 (Brysbaert 2019)
const SPOKEN = [20, 10, 5]; // remaining seconds that a screen reader announces

let reading = null; // the question that is being read; null between questions

function pace() {
    const chosen = Math.round(Number(localStorage.getItem("clueline-play-pace")));
    return chosen >= 60 && chosen <= 400 ? chosen : PACE;
}

function drawReady(state, game) {
    show("ready", true);
    element("pace").value = pace();
    element("read").textContent = `Read question ${state.question + 1}`;
    element("read").onclick = () => {
        if (!element("pace").reportValidity()) return;
        localStorage.setItem("clueline-play-pace", element("pace").value);
        game.answer({pace: Math.round(Number(element("pace").value)) || PACE});
    };
    element("read").focus();
}

// Words arrive a few at a time but are shown evenly. The words shown are at most one request behind.
function drawReading(state, game) {
    const own = {game, received: [], shown: 0, closes: null, passes: null, spokenClue: 0, step: state.step, timer: null};
    reading = own;
    element("words").textContent = "";
    element("spoken").replaceChildren();
    element("left").textContent = "Buzz with the space bar, or tap.";
    show("reading", true);
    show("buzzer", true);
    show("pass", false);
    receive(own, state.reading);
    while (own.shown < own.received.length) reveal(own);
    own.timer = setInterval(() => tick(own), 60_000 / state.reading.pace);
    element("buzzer").focus({preventScroll: true});
    ask(own);
}

function receive(own, {words, left_ms: left}) {
    own.received.push(...words);
    if (left !== null && own.closes === null) own.closes = performance.now() + left;
}

function reveal(own) {
    const [word, clue] = own.received[own.shown];
    if (clue !== own.spokenClue) speak(own, clue);
    element("words").append(own.shown ? ` ${word}` : word);
    own.shown += 1;
}

// A screen reader reads a clue only when it is complete, because single words would interrupt each other.
function speak(own, next) {
    const text = own.received.slice(0, own.shown).filter(([, clue]) => clue >= own.spokenClue && clue < next).map(([word]) => word);
    if (text.length) element("spoken").append(paragraph(text.join(" ")));
    own.spokenClue = next;
}

function tick(own) {
    const behind = own.received.length - own.shown;
    if (behind) for (let due = behind > 8 ? behind - 4 : 1; due; due -= 1) reveal(own);
    else if (own.closes !== null && own.passes === null) wait(own);
}

// All words are shown; a buzz is still accepted for some seconds.
function wait(own) {
    clearInterval(own.timer);
    speak(own, Infinity);
    show("pass", true);
    const count = () => {
        const left = own.closes - performance.now();
        element("left").textContent = `Buzz within ${Math.max(Math.ceil(left / 1000), 0)} s.`;
        if (left <= 0) end(own, null);
    };
    own.passes = setInterval(count, 200);
    count();
}

async function ask(own) {
    while (reading === own && own.closes === null) {
        await new Promise((resolve) => { setTimeout(resolve, POLL); });
        if (reading !== own) return;
        try {
            const answer = await own.game.post("/api/v1/play/words", {step: own.step, have: own.received.length});
            if (reading !== own) return;
            report("");
            if (answer.over) {
                stop();
                own.game.refresh(); // the player buzzed in another tab, or came back too late
                return;
            }
            receive(own, answer);
        } catch (error) {
            if (reading !== own) return;
            if (!error.again) { // for example, the player was erased in another tab
                stop();
                own.game.refresh();
                return;
            }
            report(`${error.message} The question continues in the meantime.`);
        }
    }
}

function stop() {
    if (!reading) return;
    clearInterval(reading.timer);
    clearInterval(reading.passes);
    reading = null;
}

function end(own, word) {
    if (reading !== own) return;
    stop();
    speak(own, Infinity);
    show("buzzer", false);
    show("pass", false);
    element("left").textContent = word === null ? "" : "You buzzed.";
    own.game.answer({word}, {insist: true});
}

function buzz() {
    if (reading?.shown) end(reading, reading.shown);
}

let countdown = null;

function drawAnswering(state, game) {
    const {phase, words, guess, left_ms: left} = state.reading;
    const fields = {guess: "Your answer", sure: "How sure are you that it is right?", button: "Answer"};
    const send = (insist) => {
        clearInterval(countdown);
        game.answer({guess: element("guess").value, confidence: Math.min(Math.max(confidence(), 0), 100)}, {insist});
    };
    showClues([words.map(([word]) => word).join(" ")], {heard: true});
    showForm(fields, () => send(false));
    if (phase === "prompted") {
        element("prompt").textContent = `“${guess}” is not specific enough. Be more precise.`;
        show("prompt", true);
    }
    const ends = performance.now() + left;
    const count = () => {
        const seconds = Math.ceil((ends - performance.now()) / 1000);
        element("time").textContent = `${Math.max(seconds, 0)} s left to answer`;
        element("time").ariaLive = SPOKEN.includes(seconds) ? "polite" : "off";
        if (seconds <= 0) send(true); // sends what was typed by then
    };
    show("time", true);
    clearInterval(countdown);
    countdown = setInterval(count, 200);
    count();
}

document.addEventListener("keydown", (event) => {
    if (event.key !== " " || !reading || event.target.closest("input, select, #play-pass")) return;
    event.preventDefault();
    if (!event.repeat) buzz();
});
element("buzzer").addEventListener("click", buzz);
element("words").addEventListener("pointerdown", buzz);
element("pass").addEventListener("click", () => { if (reading) end(reading, null); });

export const race = {
    about: "Words appear one by one. Buzz with the space bar or a tap as soon as you know the answer, once per question. "
        + "Then type the answer and how sure you are that it is right.",
    buzzes: true,
    draw(state, game) {
        stop();
        clearInterval(countdown);
        if (state.reading.phase === "ready") drawReady(state, game);
        else if (state.reading.phase === "reading") drawReading(state, game);
        else drawAnswering(state, game);
    },
    told(last) {
        const [answer] = last.answers;
        const own = answer ? `You buzzed at clue ${answer.clue + 1}. ${graded(answer)}` : "You did not buzz.";
        return [theAnswer(last), paragraph(last.clues.join(" ").replace(/<[^>]*>/g, ""), "note"), paragraph(own)];
    },
};
