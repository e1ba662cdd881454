// Poisson regression with an offset: counts over known exposures.
data {
  int<lower=0> N;
  int<lower=1> D;
  matrix[N, D] x;
  vector<lower=0>[N] exposure;
  array[N] int<lower=0> y;
}
transformed data {
  vector[N] offset_log = log(exposure);
}
parameters {
  real alpha;
  vector[D] beta;
}
model {
  alpha ~ normal(0, 2);
  beta ~ std_normal();
  y ~ poisson_log_glm(x, alpha + offset_log, beta);
}
