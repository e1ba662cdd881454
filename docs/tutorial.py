# %% [markdown]
# # From a data frame to a certified table
#
# Contraceptive use of a (made-up) survey: does education matter, and how much do districts differ? We fit a logistic
# regression with an effect for each district, read off what is proved, look at it, and fit the same model with NumPyro.
#
# Needs pandas and matplotlib; the comparison needs NumPyro. Run it cell by cell, or as a script.

# %%
import time

import matplotlib

matplotlib.use("Agg")  # leave this out in a notebook

import numpy as np
import pandas as pd

import provi

# %% [markdown]
# ## The data
#
# Education is a category with an order: the other levels are compared with its first level.

# %%
random = np.random.default_rng(2024)
rows, districts = 1200, 12
levels = ["none", "primary", "secondary"]
education = random.choice(levels, size=rows, p=[0.3, 0.4, 0.3])
district = random.integers(0, districts, size=rows)
age = random.normal(0.0, 1.0, size=rows)
effects = 0.4 * random.standard_normal(districts)
logit = -0.4 + 0.3 * age + pd.Series(education).map({"none": 0.0, "primary": 0.5, "secondary": 0.9}) + effects[district]
frame = pd.DataFrame(
    {
        "uses": random.random(rows) < 1 / (1 + np.exp(-logit)),
        "education": pd.Categorical(education, categories=levels, ordered=True),
        "age": age,
        "district": [f"d{i:02}" for i in district],
    }
)
frame.loc[random.choice(rows, 5, replace=False), "age"] = np.nan  # missing values, as in real data
print(frame.head())

# %% [markdown]
# ## The fit
#
# Five rows have a missing value and are dropped; the model's record says so. The spread between districts is given here, so that
# NumPyro can use the same value; without it, it would be estimated, and the notes would say so.

# %%
formula = "uses ~ age + education + (1 | district)"
started = time.perf_counter()
fit = provi.fit_formula(
    formula, frame, group_scale=0.4, prior_scale=1.0, contrasts=["education[secondary] - education[primary]"]
)
provi_seconds = time.perf_counter() - started
assert fit.model["rows"] == rows - 5
print(fit.summary())

# %% [markdown]
# `mean_error` and `sd_error` are proved bounds of the distance to the posterior's own mean and standard deviation. The contrast has
# its errors too.

# %%
print(fit.contrasts())
certificate = fit.certificate
print(f"no Gaussian is better by more than {certificate.gap.bound:.1e} nats")
assert certificate.proves_gap(1e-6)
secondary = fit.summary().row("education[secondary]")
assert secondary["mean_error"] < secondary["sd"]

# %% [markdown]
# ## Predictions and a plot

# %%
new = pd.DataFrame({"age": [0.0, 0.0], "education": ["none", "secondary"], "district": ["d00", "d00"]})
print(fit.predict(new))
axes = fit.plot_marginals(["age", "education[primary]", "education[secondary]"])
axes.flat[0].figure.savefig("tutorial-marginals.svg")

# %% [markdown]
# ## The same model in NumPyro
#
# Written as a NumPyro user would write it. `provi.from_numpyro` fits it as a black box; NumPyro's own
# `AutoMultivariateNormal` fits it too. The black box brings no proof of its curvature; but both answers are Gaussians over the
# same coefficients, so the formula's model can certify them.

# %%
import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoMultivariateNormal

kept = frame.dropna()
X = np.column_stack([np.ones(len(kept)), kept["age"], kept["education"] == "primary", kept["education"] == "secondary"])
group, names = pd.factorize(kept["district"], sort=True)
y = kept["uses"].to_numpy(dtype=float)


def model(X, group, y):
    beta = numpyro.sample("beta", dist.Normal(0.0, 1.0).expand([X.shape[1]]).to_event(1))
    with numpyro.plate("district", districts):
        effect = numpyro.sample("effect", dist.Normal(0.0, 0.4))
    numpyro.sample("uses", dist.Bernoulli(logits=X @ beta + effect[group]), obs=y)


started = time.perf_counter()
boxed = provi.from_numpyro(model, X, group, y).fit()
boxed_seconds = time.perf_counter() - started
print(boxed.summary())

# %%
started = time.perf_counter()
guide = AutoMultivariateNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.01), Trace_ELBO(num_particles=4))
params = svi.run(jax.random.key(0), 3000, X, group, y, progress_bar=False).params
svi_seconds = time.perf_counter() - started
svi_mean = np.asarray(params["auto_loc"])
svi_factor = np.asarray(params["auto_scale_tril"])

# %% [markdown]
# ## How good each answer is
#
# The exact model again, by its matrices, to certify all three.

# %%
design = np.column_stack([X, np.eye(districts)[group]])
exact = provi.logistic(design, y, prior_scale=np.r_[np.ones(4), np.full(districts, 0.4)])
answers = {
    "provi, formula": (fit.mean, fit.cov, provi_seconds),
    "provi, NumPyro model": (boxed.unconstrained.mean, boxed.unconstrained.cov, boxed_seconds),
    "NumPyro, SVI": (svi_mean, svi_factor @ svi_factor.T, svi_seconds),
}
gaps = {}
for name, (mean, cov, seconds) in answers.items():
    gaps[name] = provi.certify(mean, cov, exact).certificate.gap.bound
    print(f"{name:22} {seconds:6.2f} s   gap to the best Gaussian at most {gaps[name]:.1e} nats")

assert list(names) == [f"d{i:02}" for i in range(districts)]
np.testing.assert_allclose(boxed.unconstrained.mean, fit.mean, atol=0.02)
assert gaps["provi, formula"] < 1e-6 and gaps["provi, NumPyro model"] < 0.01

# %% [markdown]
# The same order of coefficients, twice: `beta` before `effect` because NumPyro sorts its sites by name, and the formula puts the
# population before the groups. The last line of the table above is what `certify` is for: an answer that somebody else found,
# and a bound on what it lacks.
