"""The bundled datasets, and the scripts that made them.

``python -m clueline.data.sample.make_lifeeval``, ``make_pyramid`` and ``make_tone`` reproduce the bundles, byte for byte.
They need the development dependencies.
"""
