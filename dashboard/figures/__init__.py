"""Figures: functions from the result of a query to a Plotly figure as a plain dict.

Colours are CSS variables of ``assets/clueline.css``, such as ``var(--ink)``; the browser puts in what they stand for.
"""
