"""What is proved about an answer, and what is estimated beside it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from html import escape
from typing import Any, Optional

import numpy as np

from . import _provi


def bound_text(value: Optional[float], digits: int = 3) -> str:
    """A bound to so many digits, rounded up: what is printed holds too. A dash where there is none."""
    return "–" if value is None or value != value else _provi.bound_text(value, digits)


@dataclass(frozen=True)
class Statement:
    """One proved bound, or the reason why there is none."""

    bound: Optional[float]
    """The bound; ``None`` where nothing is proved."""
    confidence: Optional[float]
    """With which probability over the audit's draws it holds; 1 for a deterministic one."""
    key: Optional[str]
    """The key of its theorem in the ledger ``docs/theory.md``."""
    provenance: Optional[str]
    """The weakest origin of its constants: ``proved``, ``declared`` or ``estimated``."""
    reason: Optional[str]
    """Why there is no bound."""

    def __str__(self) -> str:
        if self.bound is None:
            return f"not proved: {self.reason}"
        return f"≤ {bound_text(self.bound)} ({self.provenance} [{self.key}])"


@dataclass(frozen=True)
class Interval:
    """A two-sided bound of the log evidence."""

    lower: Optional[float]
    upper: Optional[float]
    confidence: Optional[float]
    key: Optional[str]
    provenance: Optional[str]
    reason: Optional[str]


@dataclass(frozen=True)
class MomentStatement:
    """Bounds on how far one coordinate's posterior mean and sd can be from those of the answer."""

    name: str
    mean_error: Statement
    sd_error: Statement


@dataclass(frozen=True)
class Grounds:
    """The numbers on which a certificate rests, for a reader who checks it."""

    failure_probability: float
    draws: int
    evaluations: int
    convexity: Optional[float] = None
    gradient_norm: Optional[float] = None
    global_fisher_mean: Optional[float] = None
    global_lipschitz: Optional[float] = None
    radius: Optional[float] = None
    local_fisher_mean: Optional[float] = None
    local_lipschitz: Optional[float] = None
    local_convexity: Optional[float] = None
    outside: Optional[float] = None
    transport_mean: Optional[float] = None
    transport_lipschitz: Optional[float] = None


@dataclass(frozen=True)
class FamilyGap:
    """The gap within the family of Gaussians in which the answer was sought."""

    name: str
    """The family, such as ``"meanfield"``."""
    gap: Statement
    """The distance to the best Gaussian of the family, in nats."""


@dataclass(frozen=True)
class Certificate:
    """What is proved about an answer, and on what grounds.

    ``gap`` is the distance to the best Gaussian, ``kl`` the distance to the posterior, both in nats: a small gap says
    nothing about the second. ``family`` is the distance to the best Gaussian of the family that ``family_of_q`` named.
    """

    gap: Statement
    kl: Statement
    tv: Statement
    evidence: Interval
    moments: tuple[MomentStatement, ...]
    grounds: Grounds
    family: Optional[FamilyGap] = None
    _text: str = field(repr=False, compare=False, default="")

    @classmethod
    def _from(cls, data: dict[str, Any], text: str) -> Certificate:
        moments = (
            MomentStatement(m["name"], Statement(**m["mean_error"]), Statement(**m["sd_error"]))
            for m in data["moments"]
        )
        grounds = {f.name: data["grounds"].get(f.name) for f in fields(Grounds)}
        family = data.get("family")
        return cls(
            gap=Statement(**data["gap"]),
            kl=Statement(**data["kl"]),
            tv=Statement(**data["tv"]),
            evidence=Interval(**data["evidence"]),
            moments=tuple(moments),
            grounds=Grounds(**grounds),
            family=None if family is None else FamilyGap(family["name"], Statement(**family["gap"])),
            _text=text,
        )

    def proves_gap(self, accuracy: float) -> bool:
        """Whether f − f* ≤ ``accuracy`` nats is proved: by ``gap``, or by ``kl``, which bounds the gap too. For an answer that was
        sought in a family, f* is the best of the family."""
        if self.family is not None:
            bound = self.family.gap.bound
            return bound is not None and bound <= accuracy
        bounds = [s.bound for s in (self.gap, self.kl) if s.bound is not None]
        return bool(bounds) and min(bounds) <= accuracy

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, as in a ``fit.json``."""
        out = asdict(self)
        del out["_text"]
        out["moments"] = list(out["moments"])
        if self.family is None:
            del out["family"]
        return out

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self._text)}</pre>"


@dataclass(frozen=True)
class Estimates:
    """Numbers from importance sampling, with standard errors. Not bounds; ``None`` if infinite or not available."""

    kl: Optional[float]
    kl_standard_error: Optional[float]
    log_evidence: Optional[float]
    standard_error: Optional[float]
    """Of the log evidence."""
    elbo: Optional[float]
    elbo_standard_error: Optional[float]
    pareto_k: Optional[float]
    """k̂ of the importance weights."""
    reliability: Optional[str]
    """What k̂ says about the others, in words."""
    draws: int
    reason: Optional[str]
    """Why there are none."""

    def to_dict(self) -> dict[str, Any]:
        """A plain dict."""
        return asdict(self)


class TrustWarning(UserWarning):
    """An answer should not be used: its verdict is "do not use", or could not be found."""


@dataclass(frozen=True)
class Trust:
    """How far to trust the answer of a black box: by estimates, and by bounds where its curvature is declared.

    ``verdict`` is ``"good"``, ``"fair"`` or ``"do not use"``: a good answer can be used as it is, of a fair one the draws weighted by
    p/q are better than the Gaussian's own, any other should not be used. ``None`` if it could not be measured.
    """

    verdict: Optional[str]
    reasons: tuple[str, ...]
    """Why, one sentence each."""
    witnesses: dict[str, Optional[float]]
    """The numbers behind the verdict, by name as in ``fit.json``; empty if there is none."""
    line: str = field(repr=False, compare=False, default="")
    """All of it in one line, as every shell prints it."""
    proved: bool = False
    """Whether the verdict is proved by the curvature that the model declares; otherwise it is estimated."""

    @classmethod
    def _from(cls, data: dict[str, Any], line: str) -> Trust:
        return cls(data["verdict"], tuple(data["reasons"]), dict(data["witnesses"] or {}), line, data.get("proved", False))

    @property
    def usable(self) -> bool:
        """Whether the verdict is good or fair."""
        return self.verdict in ("good", "fair")

    def __str__(self) -> str:
        return self.line

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, as in a ``fit.json``."""
        return {"verdict": self.verdict, "reasons": list(self.reasons), "witnesses": dict(self.witnesses), "proved": self.proved}


@dataclass(frozen=True, eq=False)
class PosteriorMoments:
    """The posterior's own means and standard deviations, and its probabilities that a coefficient is positive, in the order of the names: values, and
    what each is proved to be off by at most. They are not those of the Gaussian."""

    mean: np.ndarray
    mean_error: np.ndarray
    sd: np.ndarray
    sd_error: np.ndarray
    confidence: float
    """The probability over the audit's draws with which all of them hold, together with the certificate."""
    key: str
    provenance: str
    positive: Optional[np.ndarray] = None
    """The probability of being positive; ``None`` where it was not measured."""
    positive_error: Optional[np.ndarray] = None

    @classmethod
    def _from(cls, data: dict[str, Any]) -> PosteriorMoments:
        return cls(**{key: np.array(value) if isinstance(value, list) else value for key, value in data.items()})


@dataclass(frozen=True)
class Promise:
    """The bound known before the first draw, or why there is none."""

    value: Optional[float]
    key: Optional[str]
    norm: Optional[str]
    constants: Optional[dict[str, Any]]
    provenance: Optional[str]
    reason: Optional[str]

    def to_dict(self) -> dict[str, Any]:
        """A plain dict."""
        return asdict(self)


@dataclass(frozen=True)
class SignProbability:
    """P(vᵀz > 0) under the answer, with proved bounds of the posterior's probability."""

    value: float
    lower: float
    upper: float
    error: Statement


@dataclass(frozen=True)
class Functional:
    """A linear combination of the coordinates: value, certified errors, interval and sign."""

    mean: float
    sd: float
    interval: tuple[float, float]
    mean_error: Statement
    sd_error: Statement
    positive: SignProbability
    digits: tuple[Optional[int], Optional[int]]
    """Proved significant digits of mean and sd."""

    @classmethod
    def _from(cls, data: dict[str, Any], interval: Any, digits: Any) -> Functional:
        positive = dict(data["positive"])
        positive["error"] = Statement(**positive["error"])
        return cls(
            mean=data["mean"],
            sd=data["sd"],
            interval=(interval[0], interval[1]),
            mean_error=Statement(**data["mean_error"]),
            sd_error=Statement(**data["sd_error"]),
            positive=SignProbability(**positive),
            digits=(digits[0], digits[1]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers."""
        return asdict(self)
