// Logistic regression with standard normal coefficients; the intercept is a column of x.
data {
  int<lower=0> N;
  int<lower=1> D;
  matrix[N, D] x;
  array[N] int<lower=0, upper=1> y;
}
parameters {
  vector[D] beta;
}
model {
  beta ~ std_normal();
  y ~ bernoulli_logit_glm(x, 0, beta);
}
