// Logistic regression with an intercept for each group, non-centred.
data {
  int<lower=0> N;
  int<lower=1> J;
  array[N] int<lower=1, upper=J> group;
  vector[N] x;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  real alpha;
  real beta;
  real<lower=0> tau;
  vector[J] eta;
}
transformed parameters {
  vector[J] intercept = alpha + tau * eta;
}
model {
  alpha ~ normal(0, 2);
  beta ~ normal(0, 2);
  tau ~ normal(0, 1);
  eta ~ std_normal();
  y ~ bernoulli_logit(intercept[group] + beta * x);
}
