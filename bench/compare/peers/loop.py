"""What the JAX packages share: steps inside one compiled loop, and a step size that decays over a time to come."""

import time

import jax
import jax.numpy as jnp


class Decay:
    """A step size that falls from `first` to `last`, exponentially, over `horizon` steps; constant if `last` is None.

    The horizon is the number of steps that fit into the setting's seconds. It is known only once a step has been
    timed, so the compiled loop takes it as an argument.
    """

    def __init__(self, first, last):
        self.first, self.last, self.horizon = first, last, 1.0

    def __call__(self, step):
        if self.last is None:
            return self.first
        return self.first * (self.last / self.first) ** jnp.minimum(step / self.horizon, 1.0)


class Loop:
    """`step(key, state) -> state`, compiled together with its loop."""

    def __init__(self, step, state, read, decay, seconds, seed=0):
        self.read, self.start, self.state, self.key = read, state, state, jax.random.PRNGKey(seed)

        def run(key, state, start, steps, horizon):
            decay.horizon = horizon
            body = lambda i, state: step(jax.random.fold_in(key, i), state)
            return jax.lax.fori_loop(start, start + steps, body, state)

        begin = time.process_time()
        self.run = jax.jit(run).lower(self.key, state, 0, 1, 1.0).compile()
        self.compile_seconds = time.process_time() - begin
        self.done, self.horizon = 0, 1.0
        jax.block_until_ready(self.run(self.key, state, 0, 1, 1.0))
        if decay.last is not None:
            self.horizon = seconds / self.seconds_a_step()

    def seconds_a_step(self):
        """From a rehearsal that is thrown away."""
        steps = 4
        while True:
            begin = time.process_time()
            jax.block_until_ready(self.run(self.key, self.state, 0, steps, 1e9))
            spent = time.process_time() - begin
            if spent > 0.3:
                return spent / steps
            steps *= 2

    def advance(self, steps):
        self.state = jax.block_until_ready(self.run(self.key, self.state, self.done, steps, self.horizon))
        self.done += steps

    def restart(self):
        self.state, self.done = self.start, 0

    def current(self):
        return self.read(self.state)
