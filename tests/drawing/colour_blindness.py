"""How far apart two colours are for the colour-blind: CIE 1976 difference after a simulation.

Source: Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation of Color
Vision Deficiency, IEEE TVCG 15 (6), 2009, table 1, severity 1.0; the matrices are of linear RGB.
"""
import numpy as np

SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array([[.152286, 1.052583, -.204868], [.114503, .786281, .099216],
                            [-.003882, -.048116, 1.051998]]),
    "deuteranopia": np.array([[.367322, .860646, -.227968], [.280085, .672501, .047413],
                              [-.011820, .042940, .968881]]),
    "tritanopia": np.array([[1.255528, -.076749, -.178779], [-.078411, .930809, .147602],
                            [.004733, .691367, .303900]])}
#: sRGB to XYZ, IEC 61966-2-1; white is D65.
XYZ = np.array([[.4124, .3576, .1805], [.2126, .7152, .0722], [.0193, .1192, .9505]])


def linear(colour):
    """Linear RGB of #rrggbb."""
    values = np.array([int(colour[k:k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(values <= .04045, values / 12.92, ((values + .055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* of linear RGB."""
    ratio = XYZ @ np.clip(rgb, 0, 1) / (XYZ @ np.ones(3))
    x, y, z = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one, other, sight="normal"):
    """The distance of two colours in L*a*b*, as somebody with this sight sees them."""
    return float(np.linalg.norm(np.subtract(*(lab(SIGHT[sight] @ linear(colour))
                                              for colour in (one, other)))))
