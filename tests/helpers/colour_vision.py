"""How different colours look, also to people without one kind of cones."""

import numpy as np

# Machado, Oliveira and Fernandes 2009, severity 1: linear sRGB as somebody sees it.
VISIONS = {
    "normal": np.eye(3),
    "protan": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deutan": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "tritan": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}
XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])


def linear(colour):
    """Return linear sRGB of a colour such as #0072b2."""
    coded = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)


def lab(colour, vision="normal"):
    """Return CIELAB of a colour as somebody sees it; the white is that of sRGB."""
    relative = XYZ @ np.clip(VISIONS[vision] @ linear(colour), 0, 1) / XYZ.sum(1)
    x, y, z = np.where(relative > 216 / 24389, np.cbrt(relative), (24389 / 27 * relative + 16) / 116)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def contrast(a, b):
    """Return the contrast ratio of two colours, from 1 to 21 (WCAG 2)."""
    low, high = sorted(XYZ[1] @ linear(colour) for colour in (a, b))
    return (high + 0.05) / (low + 0.05)


def difference(one, other):
    """Return the difference CIEDE2000 of two colours in CIELAB (Sharma, Wu and Dalal 2005)."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    chroma = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    c1, c2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, stretch * a1)), np.degrees(np.arctan2(b2, stretch * a2))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2

    def cos(times, shift):
        return np.cos(np.radians(times * hue + shift))

    t = 1 - 0.17 * cos(1, -30) + 0.24 * cos(2, 0) + 0.32 * cos(3, 6) - 0.20 * cos(4, -63)
    in_lightness = (l2 - l1) / (1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2))
    in_chroma = (c2 - c1) / (1 + 0.045 * chroma)
    in_hue = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    rotation = np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2)))) * -2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    return np.sqrt(in_lightness**2 + in_chroma**2 + in_hue**2 + rotation * in_chroma * in_hue)
