library(testthat)
library(provi)

test_check("provi")
