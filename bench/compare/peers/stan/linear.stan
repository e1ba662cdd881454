data {
  int<lower=1> rows;
  int<lower=1> columns;
  matrix[rows, columns] x;
  vector[rows] y;
}
parameters {
  vector[columns] z;
}
model {
  z ~ std_normal();
  y ~ normal(x * z, 1);
}
