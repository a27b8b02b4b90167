"""The Dash app, its pages, its JSON addresses and its command line."""
