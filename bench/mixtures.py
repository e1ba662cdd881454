#!/usr/bin/env python3
"""Writes docs/guide/mixtures.svg: three densities, draws of them in grey, and the components of their mixtures, two sds wide.

    python3 bench/mixtures.py

Needs provi and numpy.
"""

import pathlib
import warnings

import numpy as np
import provi

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "guide" / "mixtures.svg"
SIDE, DRAWS = 220, 350


def two_modes(z):
    parts = ((0.3, -2.0, 1.0), (0.7, 2.0, 0.6))
    logs = np.stack([np.log(w) - ((z - m) ** 2).sum(axis=1) / (2 * s * s) - 2 * np.log(s) for w, m, s in parts])
    total = np.logaddexp(*logs)
    slopes = [np.exp(log - total)[:, None] * (m - z) / s**2 for log, (_, m, s) in zip(logs, parts)]
    return total, slopes[0] + slopes[1]


def ring(z):
    r = np.maximum(np.hypot(z[:, 0], z[:, 1]), 1e-9)
    a = (r - 3.0) / 0.3
    return -0.5 * a**2, -(a / 0.3 / r)[:, None] * z


def banana(z):
    b = z[:, 1] - z[:, 0] ** 2
    return -0.5 * z[:, 0] ** 2 - 2 * b**2, np.stack([-z[:, 0] + 8 * b * z[:, 0], -4 * b], axis=1)


def drawn(name, rng):
    u = rng.normal(size=(DRAWS, 2))
    if name == "two modes":
        first = rng.random(DRAWS) < 0.3
        return np.where(first[:, None], -2.0 + u, 2.0 + 0.6 * u)
    if name == "ring":
        angle, r = rng.random(DRAWS) * 2 * np.pi, 3.0 + 0.3 * u[:, 0]
        return np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1)
    return np.stack([u[:, 0], u[:, 0] ** 2 + 0.5 * u[:, 1]], axis=1)


def panel(at, name, density, box):
    (left, right), (low, high) = box
    place = lambda z: (at + SIDE * (z[0] - left) / (right - left), SIDE - SIDE * (z[1] - low) / (high - low))  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = provi.black_box(density, 2)
        fit, one = provi.mixture(model, seed=1, progress=False), model.fit(seed=1, progress=False)
    out = []
    for z in drawn(name, np.random.default_rng(1)):
        x, y = place(z)
        if at <= x <= at + SIDE and 0 <= y <= SIDE:
            out.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="1.2" fill="#999"/>')
    scale = np.diag([SIDE / (right - left), -SIDE / (high - low)])
    for mean, cov in zip(fit.means, fit.covs):
        values, vectors = np.linalg.eigh(scale @ cov @ scale)
        x, y = place(mean)
        turn = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
        rx, ry = 2 * np.sqrt(values[1]), 2 * np.sqrt(values[0])
        out.append(
            f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{rx:.1f}" ry="{ry:.1f}" transform="rotate({turn:.1f} {x:.1f} {y:.1f})" '
            'fill="#1f6fb2" fill-opacity="0.12" stroke="#1f6fb2" stroke-width="1.3"/>'
        )
    words = f"{name}: {fit.components} components, ELBO {fit.elbo:.2f}; one Gaussian {one.elbo:.2f}"
    out.append(f'<text x="{at + SIDE / 2:.0f}" y="{SIDE + 18}" text-anchor="middle" font-size="10.5" font-family="sans-serif">{words}</text>')
    print(words, fit.verdict)
    return out


def main():
    panels = (("two modes", two_modes, ((-5, 5), (-5, 5))), ("ring", ring, ((-4.2, 4.2), (-4.2, 4.2))), ("banana", banana, ((-3.2, 3.2), (-2, 8))))
    width = len(panels) * (SIDE + 60)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {SIDE + 28}" width="{width}" height="{SIDE + 28}">']
    lines += ['<rect width="100%" height="100%" fill="white"/>']
    for k, (name, density, box) in enumerate(panels):
        lines += panel(30 + k * (SIDE + 60), name, density, box)
    PAGE.write_text("\n".join([*lines, "</svg>"]) + "\n")


if __name__ == "__main__":
    main()
