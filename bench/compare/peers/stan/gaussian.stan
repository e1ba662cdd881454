data {
  int<lower=1> columns;
  matrix[columns, columns] x;
}
parameters {
  vector[columns] z;
}
model {
  target += -0.5 * quad_form(x, z);
}
