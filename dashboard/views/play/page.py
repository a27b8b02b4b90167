"""The page on which people answer questions. It is not a Dash page, because it must load quickly on a phone.

The secret of the session follows the ``#`` of its address, a part that browsers do not send.
"""

from __future__ import annotations

from flask import Response

from dashboard.ui.plain_page import plain_page

PAGE = """{% block scripts %}<script src="/assets/play.js" type="module"></script>
{% endblock %}{% block top %}<span class="brand"><span class="mark" aria-hidden="true">◢</span>Clueline</span>{% endblock %}
{% block main -%}
<main id="main">
<div class="heading"><h1 id="play-title">Play</h1></div>
<p class="play-settings"><label>Text size <select class="text" id="play-size">
<option value="0.85">small</option><option value="1" selected>normal</option>
<option value="1.3">large</option><option value="1.7">very large</option>
</select></label></p>
<p class="status-message bad" role="alert" id="play-problem" hidden></p>
<noscript><p>This page needs JavaScript.</p></noscript>
<section class="panel" id="play-consent" hidden>
<p id="play-consent-text"></p>
<p class="note" id="play-about"></p>
<p><button class="quiet primary" id="play-start" type="button">I agree, start</button></p>
</section>
<section class="panel" id="play-last" aria-live="polite" hidden></section>
<section class="panel" id="play-ready" aria-label="Next question" hidden>
<p><label for="play-pace">Pace, in words a minute (60 to 400)</label></p>
<p><input class="text" id="play-pace" type="number" min="60" max="400" step="10" inputmode="numeric"></p>
<p class="note">People read aloud at about 180. You can pause here for as long as you like.</p>
<p><button class="quiet primary" id="play-read" type="button">Read the question</button></p>
</section>
<section class="panel" id="play-reading" aria-label="Question" hidden>
<p id="play-words" aria-hidden="true"></p>
<div id="play-spoken" class="for-readers" aria-live="polite"></div>
<p class="note" id="play-left" role="timer"></p>
<p class="play-buttons"><button class="quiet primary" id="play-buzzer" type="button">Buzz</button>
<button class="quiet" id="play-pass" type="button" hidden>I don't know it</button></p>
</section>
<form class="panel" id="play-form" autocomplete="off" hidden>
<p class="note" id="play-progress"></p>
<p id="play-clues" aria-live="polite"></p>
<p id="play-prompt" role="status" hidden></p>
<div id="play-guess-field">
<p><label for="play-guess" id="play-guess-label">Your answer</label></p>
<p><input class="text" id="play-guess" maxlength="300" spellcheck="false" autocapitalize="off"></p>
</div>
<fieldset class="play-classes" id="play-classes" hidden><legend>Your choice</legend></fieldset>
<p><label for="play-confidence" id="play-confidence-label">How sure are you that it is right? 0 to 100</label></p>
<p><input class="text" id="play-confidence" type="number" min="0" max="100" step="1" required inputmode="numeric"></p>
<p id="play-buzz-field"><label><input type="checkbox" id="play-buzz"> I would buzz here</label></p>
<p><button class="quiet primary" type="submit" id="play-send">Next</button></p>
<p class="note" id="play-time" role="timer" hidden></p>
</form>
<section class="panel" id="play-models" aria-label="Models' answers" hidden></section>
<section class="panel" id="play-result" aria-label="Your calibration" hidden></section>
<p id="play-foot" class="note" hidden><button class="quiet" type="button" id="play-erase">Erase my answers</button></p>
</main>
{%- endblock %}"""


def show_play() -> Response:
    """Return the page, which is the same for every session."""
    return plain_page(PAGE, "Play", "page-login page-play")


ROUTES = {"/play": show_play}
