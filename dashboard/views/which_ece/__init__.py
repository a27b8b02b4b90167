"""The calibration error as different projects compute it."""
