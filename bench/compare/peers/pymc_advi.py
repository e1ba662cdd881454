"""PyMC: FullRankADVI, one draw a step, driven through the step function that pm.fit uses.

The likelihood is written out with softplus: pm.Bernoulli(logit_p=...) gives gradients that are not finite far out.
"""

import time

import pymc as pm
import pytensor
import pytensor.tensor as pt

from problems import LOG_2PI

NAME = "PyMC"


def log_density(problem, z):
    x = problem.x
    if problem.name == "W5":
        return -0.5 * pt.dot(z, pt.dot(x, z))
    if problem.name == "W1":
        constant = -0.5 * (len(problem.y) + problem.d) * LOG_2PI
        return constant - 0.5 * pt.sum((problem.y - pt.dot(x, z)) ** 2) - 0.5 * pt.dot(z, z)
    constant = -0.5 * problem.d * LOG_2PI
    if problem.name == "W4":
        k, groups = x.shape[1], int(problem.group.max()) + 1
        theta, local = z[:k], z[k:].reshape((groups, k))
        t = pt.sum(pt.as_tensor(x.reshape(groups, -1, k)) * local[:, None, :], axis=-1).flatten()
        prior = pt.dot(theta, theta) + pt.sum((local - theta) ** 2)
    else:
        t, prior = pt.dot(x, z), pt.dot(z, z)
    return constant + pt.dot(problem.y, t) - pt.sum(pt.softplus(t)) - 0.5 * prior


class Run:
    def __init__(self, problem, setting):
        begin = time.process_time()
        with pm.Model():
            z = pm.Flat("z", shape=problem.d)
            pm.Potential("log_density", log_density(problem, z))
            inference = pm.FullRankADVI(random_seed=0)
        rate = setting.get("rate")
        chosen = {"obj_optimizer": pm.adam(learning_rate=rate)} if rate else {"obj_optimizer": pm.adagrad_window}
        self.step = inference.objective.step_function(obj_n_mc=setting["draws"], score=True, **chosen)
        group = inference.approx.groups[0]
        self.read = pytensor.function([], [group.mean, group.L])
        self.compile_seconds, self.done = time.process_time() - begin, 0

    def advance(self, steps):
        for _ in range(steps):
            self.step()
        self.done += steps

    def current(self):
        return self.read()


def start(problem, setting):
    return Run(problem, setting)
