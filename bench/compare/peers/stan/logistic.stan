data {
  int<lower=1> rows;
  int<lower=1> columns;
  matrix[rows, columns] x;
  array[rows] int<lower=0, upper=1> y;
}
parameters {
  vector[columns] z;
}
model {
  z ~ std_normal();
  y ~ bernoulli_logit_glm(x, 0, z);
}
