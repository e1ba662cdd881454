data {
  int<lower=1> rows;
  int<lower=1> columns;
  int<lower=1> groups;
  matrix[rows, columns] x;
  array[rows] int<lower=0, upper=1> y;
  array[rows] int<lower=1, upper=groups> group;
}
parameters {
  vector[columns] theta;
  matrix[columns, groups] local;
}
model {
  theta ~ std_normal();
  for (g in 1:groups) {
    local[, g] ~ normal(theta, 1);
  }
  vector[rows] t;
  for (n in 1:rows) {
    t[n] = x[n] * local[, group[n]];
  }
  y ~ bernoulli_logit(t);
}
