"""The Dash app, its pages and its JSON addresses."""
