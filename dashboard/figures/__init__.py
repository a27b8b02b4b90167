"""Figures: functions that turn the result of a query into a Plotly figure, as a plain dict.

Colours are CSS variables of ``assets/clueline.css``, such as ``var(--ink)``; the browser replaces them with their values.
"""
